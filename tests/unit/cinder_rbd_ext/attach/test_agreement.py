# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from cinder_rbd_ext.attach import agreement
from cinder_rbd_ext.attach import replacement
from rbd_volume_options import cache_modes
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_ALL = {'rbd_cache_modes': ['none', 'writeback']}
_NOTHING: dict[str, Any] = {'host': 'compute-1'}

#: Requested mode, connector, mode of the replaced attachment (None: there is
#: none); agreed mode, part of the error, whether the attachment is refused
#: with strict and with lenient enforcement.
_CASES: dict[str, tuple[Any, ...]] = {
    'nobody_asks': (None, _NOTHING, None, None, '', False, False),
    'offered': ('writeback', _ALL, None, 'writeback', '', False, False),
    'not_offered': (
        'directsync',
        _ALL,
        None,
        None,
        'does not offer it',
        True,
        False,
    ),
    'no_plug_in': ('none', _NOTHING, None, None, 'offers no', True, False),
    'not_allowed': ('unsafe', _ALL, None, None, 'not allowed', True, True),
    'not_allowed_any_more': (
        'unsafe',
        _ALL,
        'writeback',
        'writeback',
        'not allowed',
        False,
        False,
    ),
    'nor_offered': (
        'unsafe',
        _NOTHING,
        'unsafe',
        None,
        "'unsafe': the compute host offers no",
        True,
        False,
    ),
    'the_host_chose': (
        'unsafe',
        _NOTHING,
        'host',
        None,
        'not allowed',
        False,
        False,
    ),
    'changed_meanwhile': (
        'none',
        _ALL,
        'writeback',
        'none',
        '',
        False,
        False,
    ),
}


@ddt.ddt
class AgreeTest(base.TestCase):
    def agree(
        self, case: str, certain: bool = True, **options: str
    ) -> agreement.Agreement:
        mode, connector, before, *_ = _CASES[case]
        earlier = None
        if before:
            kept = None if before == 'host' else cache_modes.CacheMode(before)
            earlier = replacement.Earlier(kept, 'compute-0')
        volume = cinder_objects.volume(
            {'rbd:cache_mode': mode} if mode else {}
        )
        settings = cinder_objects.settings(**options)
        return agreement.agree(
            volume, connector, settings, certain, lambda: earlier
        )

    def check(self, case: str, found: agreement.Agreement) -> None:
        """Check the agreed mode and the error."""
        *_, mode, words, _, _ = _CASES[case]
        agreed = found.asked.mode.value if found.asked else None
        self.assertEqual(mode, agreed)
        self.assertIn(words, str(found.error or ''))
        self.assertIs(bool(words), found.error is not None)

    @ddt.data(*_CASES)
    def test_strict_backend_refuses_unsupported_mode(self, case: str) -> None:
        found = self.agree(case)
        self.check(case, found)
        self.assertIs(_CASES[case][-2], found.refused)

    @ddt.data(*_CASES)
    def test_lenient_backend_attaches_without_mode(self, case: str) -> None:
        found = self.agree(case, rbd_cache_mode_enforcement='lenient')
        self.check(case, found)
        self.assertIs(_CASES[case][-1], found.refused)

    @ddt.data(*_CASES)
    def test_not_for_a_server(self, case: str) -> None:
        found = self.agree(case, certain=False)
        self.check(case, found)
        self.assertIs(False, found.refused)

    @ddt.data(
        ('directsync', _ALL),
        ('writeback', _NOTHING),
        ('unsafe', _ALL),
        ('unsafe', _NOTHING),
    )
    @ddt.unpack
    def test_same_host(self, mode: str, connector: dict[str, Any]) -> None:
        """A rebuild always keeps the current mode of the server."""
        volume = cinder_objects.volume({'rbd:cache_mode': mode})
        here = {**connector, 'host': 'compute-0'}
        for before in (cache_modes.CacheMode.WRITETHROUGH, None):
            earlier = replacement.Earlier(before, 'compute-0')
            for options in ({}, {'rbd_cache_mode_enforcement': 'lenient'}):
                found = agreement.agree(
                    volume,
                    here,
                    cinder_objects.settings(**options),
                    True,
                    lambda earlier=earlier: earlier,  # type: ignore[misc]
                )
                kept = found.asked.mode if found.asked else None
                self.assertIs(before, kept)
                self.assertIsNotNone(found.error)
                self.assertFalse(found.refused)

    def test_same_host_has_the_requested_mode(self) -> None:
        earlier = replacement.Earlier(cache_modes.CacheMode.NONE, 'compute-0')
        found = agreement.agree(
            cinder_objects.volume({'rbd:cache_mode': 'writeback'}),
            {**_ALL, 'host': 'compute-0'},
            cinder_objects.settings(),
            True,
            lambda: earlier,
        )
        self.assertEqual('writeback', found.asked and found.asked.mode.value)
        self.assertIsNone(found.error)
