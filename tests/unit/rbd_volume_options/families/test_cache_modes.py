# SPDX-License-Identifier: Apache-2.0

import hypothesis

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options.families import cache_modes
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

CacheMode = cache_modes.CacheMode


class CacheModeTestCase(refusals.RefusalTestCase):
    def test_mode_knows_cache_and_safety(self) -> None:
        self.assertEqual(
            [
                ('none', False, True),
                ('writethrough', True, True),
                ('writeback', True, True),
                ('directsync', False, True),
                ('unsafe', True, False),
            ],
            [
                (
                    mode.value,
                    mode.uses_rbd_cache,
                    mode in cache_modes.SAFE_CACHE_MODES,
                )
                for mode in CacheMode
            ],
        )
        for mode in CacheMode:
            self.assertIs(mode, cache_modes.parse_cache_mode(mode.value))

    def test_setting_of_librbd_is_a_boolean_or_a_number(self) -> None:
        for texts, cached in (
            (('true', 'TRUE', '1', '10', '-1'), True),
            (('False', '0', '-00'), False),
        ):
            for text in texts:
                self.assertIs(cached, cache_modes.librbd_caches(text), text)

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

    def test_other_words_are_no_mode(self) -> None:
        self.assertAllRefused(
            cache_modes.parse_cache_mode,
            keys.CACHE_MODE,
            {
                'not a cache mode': (
                    *('', 'WriteBack', 'WRITEBACK', 'writeback ', 'none\n'),
                    *('default', 'writearound', 'true', '\uff4eone', None),
                    'none' * 100,
                )
            },
            'none, writethrough, writeback, directsync',
        )

    def test_list_keeps_its_order(self) -> None:
        for value, expected in (
            ('none', (CacheMode.NONE,)),
            ('unsafe,none', (CacheMode.UNSAFE, CacheMode.NONE)),
            ('none, writeback', (CacheMode.NONE, CacheMode.WRITEBACK)),
        ):
            self.assertEqual(expected, cache_modes.parse_cache_modes(value))
        self.assertAllRefused(
            cache_modes.parse_cache_modes,
            keys.CACHE_MODE,
            {
                "'' is not a cache mode": ('', 'none,'),
                "'write back' is not a cache mode": ('none, write back',),
                r"'\nwriteback' is not a cache mode": ('none,\nwriteback',),
                "'fast' is not a cache mode": ('none,fast',),
            },
            'a comma-separated list of none, writethrough, writeback, '
            'directsync, unsafe',
        )

    def test_message_names_modes_in_one_order(self) -> None:
        modes = {CacheMode.UNSAFE, CacheMode.WRITEBACK, CacheMode.NONE}
        self.assertEqual('none, writeback, unsafe', cache_modes.joined(modes))
        # Not the mode none.
        self.assertEqual('no cache mode', cache_modes.joined(()))
