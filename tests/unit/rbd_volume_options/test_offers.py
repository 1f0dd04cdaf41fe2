# SPDX-License-Identifier: Apache-2.0

import types
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import offers
from tests.unit import base
from tests.unit.rbd_volume_options import back_end

_ORIGIN = errors.Origin.VOLUME_METADATA


def _offer(specs: dict[str, str], *settings: Any) -> offers.TypeOffer:
    return offers.TypeOffer.of_pools(
        specs, [types.SimpleNamespace(settings=each) for each in settings]
    )


class OfferTest(base.TestCase):
    """Combined offers of several back ends."""

    def test_reason_says_why_type_offers_nothing(self) -> None:
        ours = back_end.settings()
        for settings, reason in (
            ((), offers.NO_BACKEND),
            ((None,), offers.NOT_RBD),
            ((None, ours), offers.MIXED),
            ((ours, ours), None),
        ):
            self.assertEqual(reason, _offer({}, *settings).reason)

    def test_nothing_offered(self) -> None:
        offer = _offer({}, None)
        offer.check_offered({}, _ORIGIN)
        error = self.assertRaises(
            errors.OptionError,
            offer.check_offered,
            {'rbd:object_map': 'true'},
            _ORIGIN,
        )
        self.assertEqual(keys.OBJECT_MAP, error.key)
        self.assertEqual(offers.NOT_RBD, error.reason)

    def test_tenant_options(self) -> None:
        two = (
            back_end.settings(),
            back_end.settings(tenant_options=frozenset({keys.CACHE_MODE})),
        )
        self.assertEqual({keys.CACHE_MODE}, _offer({}, *two).tenant_options)
        specs = {keys.TENANT_OPTIONS: keys.OBJECT_MAP}
        self.assertEqual({keys.OBJECT_MAP}, _offer(specs, *two).tenant_options)
        none = {keys.TENANT_OPTIONS: ''}
        self.assertEqual(frozenset(), _offer(none, *two).tenant_options)
