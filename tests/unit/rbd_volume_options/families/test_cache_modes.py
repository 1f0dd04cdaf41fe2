# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options.families import cache_modes
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

CacheMode = cache_modes.CacheMode


@ddt.ddt
class CacheModeTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['none', 'none', False, True],
        ['writethrough', 'writethrough', True, True],
        ['writeback', 'writeback', True, True],
        ['directsync', 'directsync', False, True],
        ['unsafe', 'unsafe', True, False],
    )
    def test_mode_knows_cache_and_safety(
        self, word: str, cached: bool, safe: bool
    ) -> None:
        mode = cache_modes.parse_cache_mode(word)
        self.assertEqual(word, mode.value)
        self.assertIs(cached, mode.uses_rbd_cache)
        self.assertIs(safe, mode in cache_modes.SAFE_CACHE_MODES)

    @ddt.named_data(
        ['true', 'true', True],
        ['upper_case', 'TRUE', True],
        ['false', 'False', False],
        ['zero', '0', False],
        ['zeros', '-00', False],
        ['one', '1', True],
        ['ten', '10', True],
        ['negative', '-1', True],
    )
    def test_setting_of_librbd(self, value: str, cached: bool) -> None:
        self.assertIs(cached, cache_modes.librbd_caches(value))

    @hypothesis.given(untrusted.TEXTS)
    def test_any_text_is_a_mode_or_refused(self, text: str) -> None:
        self.assertIsInstance(cache_modes.librbd_caches(text), bool)
        try:
            modes = cache_modes.parse_cache_modes(text)
        except errors.OptionError as error:
            self.assertMessageIsWhole(error)
            return
        joined = ','.join(mode.value for mode in modes)
        self.assertEqual(modes, cache_modes.parse_cache_modes(joined))

    def test_there_are_no_others(self) -> None:
        self.assertEqual(5, len(CacheMode))

    @ddt.named_data(
        ['empty', ''],
        ['capitals', 'WriteBack'],
        ['name_of_the_member', 'WRITEBACK'],
        ['space_after', 'writeback '],
        ['newline_after', 'none\n'],
        ['libvirt_default', 'default'],
        ['librbd_policy', 'writearound'],
        ['boolean', 'true'],
        ['fullwidth', '\uff4eone'],
        ['none_of_python', None],
        ['long', 'none' * 100],
    )
    def test_is_no_mode(self, value: str) -> None:
        self.assertRefused(
            lambda: cache_modes.parse_cache_mode(value),
            keys.CACHE_MODE,
            value,
            'not a cache mode',
            'none, writethrough, writeback, directsync',
        )

    @ddt.named_data(
        ['one', 'none', [CacheMode.NONE]],
        [
            'as_they_stand',
            'unsafe,none',
            [CacheMode.UNSAFE, CacheMode.NONE],
        ],
        [
            'spaces',
            'none, writeback',
            [CacheMode.NONE, CacheMode.WRITEBACK],
        ],
    )
    def test_list_keeps_order(
        self, value: str, expected: list[CacheMode]
    ) -> None:
        self.assertEqual(tuple(expected), cache_modes.parse_cache_modes(value))

    @ddt.named_data(
        ['empty', '', "''"],
        ['space_within', 'none, write back', "'write back'"],
        ['line_break', 'none,\nwriteback', "'\\nwriteback'"],
        ['trailing_comma', 'none,', "''"],
        ['no_mode', 'none,fast', "'fast'"],
    )
    def test_is_no_list(self, value: str, word: str) -> None:
        self.assertRefused(
            lambda: cache_modes.parse_cache_modes(value),
            keys.CACHE_MODE,
            value,
            f'{word} is not a cache mode',
            'a comma-separated list of none, writethrough, writeback, '
            'directsync, unsafe',
        )

    def test_joined_is_in_one_order(self) -> None:
        self.assertEqual(
            'none, writeback, unsafe',
            cache_modes.joined(
                {CacheMode.UNSAFE, CacheMode.WRITEBACK, CacheMode.NONE}
            ),
        )

    def test_joined_of_none_is_not_the_mode_none(self) -> None:
        self.assertEqual('no cache mode', cache_modes.joined(()))
