# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
import fixtures

from cinder_rbd_ext.attach import attachment_mode
from cinder_rbd_ext.attach import host_modes
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from tests.unit import base

CacheMode = cache_modes.CacheMode
_SAFE = frozenset(cache_modes.SAFE_CACHE_MODES)
_ASKED = attachment_mode.Asked(
    CacheMode.WRITEBACK, errors.Origin.VOLUME_METADATA
)

#: Connectors and the modes that they offer.
_OFFERS: dict[str, tuple[dict[str, Any], frozenset[CacheMode] | None]] = {
    'no_plug_in': ({}, None),
    'list': (
        {'rbd_cache_modes': ['none', 'writeback']},
        frozenset({CacheMode.NONE, CacheMode.WRITEBACK}),
    ),
    'text': (
        {'rbd_cache_modes': 'none, writeback'},
        frozenset({CacheMode.NONE, CacheMode.WRITEBACK}),
    ),
    'unsafe': (
        {'rbd_cache_modes': ['unsafe']},
        frozenset({CacheMode.UNSAFE}),
    ),
    'words_of_a_later_release': (
        {'rbd_cache_modes': ['none', 'telepathic']},
        frozenset({CacheMode.NONE}),
    ),
    'other_case': ({'rbd_cache_modes': ['Writeback']}, frozenset()),
    'empty': ({'rbd_cache_modes': []}, frozenset()),
    'empty_text': ({'rbd_cache_modes': ''}, frozenset()),
    'things_that_are_no_words': (
        {'rbd_cache_modes': [None, 1, ['none'], {'none': 1}]},
        frozenset(),
    ),
    'nothing': ({'rbd_cache_modes': None}, frozenset()),
    'number': ({'rbd_cache_modes': 7}, frozenset()),
    'mapping': ({'rbd_cache_modes': {'writeback': True}}, frozenset()),
}


@ddt.ddt
class OfferTest(base.TestCase):
    @ddt.data(*_OFFERS)
    def test_offer_is_read_from_connector(self, case: str) -> None:
        connector, offer = _OFFERS[case]
        self.assertEqual(offer, host_modes.of_connector(connector))

    def test_no_list_is_logged(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        host_modes.of_connector(
            {'host': 'c\n1', 'rbd_cache_modes': 'x' * 9999}
        )
        self.assertEqual('', log.output)
        host_modes.of_connector(
            {'host': 'c\n1', 'rbd_cache_modes': {'x': 'y\n'}}
        )
        self.assertIn(r"Connector of host 'c\n1': rbd_cache_modes", log.output)
        self.assertEqual(1, log.output.count('\n'))


@ddt.ddt
class CheckTest(base.TestCase):
    @ddt.data(*CacheMode)
    def test_offered_mode_is_accepted(self, mode: CacheMode) -> None:
        wanted = attachment_mode.Asked(mode, errors.Origin.BACKEND)
        host_modes.check(wanted, frozenset({mode}))

    def _text(self, offer: host_modes.HostModes | None) -> str:
        error = self.assertRaises(
            errors.OptionError, host_modes.check, _ASKED, offer
        )
        self.assertEqual('rbd:cache_mode', error.key)
        return str(error)

    def test_no_plug_in(self) -> None:
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): the compute "
            'host offers no cache modes; allowed: no cache mode',
            self._text(None),
        )

    def test_not_allowed_there(self) -> None:
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): the compute "
            'host does not offer it; allowed: none, directsync',
            self._text(frozenset({CacheMode.DIRECTSYNC, CacheMode.NONE})),
        )

    def test_nothing_allowed_there(self) -> None:
        self.assertIn('allowed: no cache mode', self._text(frozenset()))

    def test_unsafe_is_to_be_listed(self) -> None:
        wanted = attachment_mode.Asked(
            CacheMode.UNSAFE, errors.Origin.VOLUME_TYPE
        )
        self.assertRaises(errors.OptionError, host_modes.check, wanted, _SAFE)

    @ddt.data(None, frozenset())
    def test_shared_disks_get_none_from_nova_itself(
        self, offer: host_modes.HostModes | None
    ) -> None:
        wanted = attachment_mode.Asked(CacheMode.NONE, None, shared=True)
        host_modes.check(wanted, offer)
