# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import offers
from tests.unit import base
from tests.unit.rbd_volume_options import back_end

_TYPE = {'id': '1', 'name': 'n'}


def _answer(
    specs: dict[str, str], *settings: Any, settable: Any = back_end.ALL_KEYS
) -> dict[str, Any]:
    offer = offers.TypeOffer(specs, settings or (back_end.settings(),))
    return offer.answer(_TYPE, settable)


class AnswersTest(base.TestCase):
    """Content of answers; the tests of the routes cover HTTP."""

    def _defaults(self, specs: dict[str, str]) -> dict[str, Any]:
        return {
            key: (told['default'], told['default_from'])
            for key, told in _answer(specs)['options'].items()
            if told['default'] is not None
        }

    def test_features_of_type_imply_object_map(self) -> None:
        specs = {keys.FEATURES: 'layering,exclusive-lock,object-map'}
        defaults = self._defaults(specs)
        names = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
        self.assertEqual((names, 'volume type'), defaults[keys.FEATURES])
        self.assertEqual((True, 'volume type'), defaults[keys.OBJECT_MAP])

    def test_features_of_cephs_configuration(self) -> None:
        reported = dataclasses.replace(
            back_end.settings(),
            ceph_features=frozenset({'layering', 'exclusive-lock'}),
        )
        told = _answer({keys.OBJECT_MAP: 'true'}, reported)['options']
        names = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
        self.assertEqual(names, told[keys.FEATURES]['default'])
        self.assertEqual(
            'Ceph configuration', told[keys.FEATURES]['default_from']
        )
        told = _answer({}, reported)['options']
        self.assertIs(False, told[keys.OBJECT_MAP]['default'])

    def test_striping_of_cephs_configuration(self) -> None:
        reported = dataclasses.replace(
            back_end.settings(), ceph_striping=layout.Striping(65536, 2)
        )
        told = _answer({}, reported)['options']
        self.assertEqual(65536, told[keys.STRIPE_UNIT]['default'])
        self.assertEqual(2, told[keys.STRIPE_COUNT]['default'])
        self.assertEqual(
            'Ceph configuration', told[keys.STRIPE_COUNT]['default_from']
        )

    def test_maximum_of_the_type_bounds_limits_and_bursts(self) -> None:
        limit, *others = keys.LIMITS
        told = _answer({limit.maximum: '500'})['options']
        for key in (limit.limit, limit.burst):
            self.assertEqual(500, told[key]['maximum'])
        self.assertEqual(86400, told[limit.burst_seconds]['maximum'])
        for each in others:
            self.assertEqual(each.largest, told[each.limit]['maximum'])

    def test_smallest_limit_of_a_volume_is_shown(self) -> None:
        limit = keys.LIMITS[0]
        for specs, minimum in (
            ({}, limit.smallest),
            ({limit.per_gib: '3', limit.minimum: '100'}, 100),
            # The only limit that the type allows.
            ({limit.maximum: '3'}, 3),
        ):
            told = _answer(specs)['options']
            self.assertEqual(minimum, told[limit.limit]['minimum'])
            self.assertEqual(1, told[limit.burst]['minimum'])

    def test_object_map_alone(self) -> None:
        defaults = self._defaults({keys.OBJECT_MAP: 'false'})
        self.assertEqual((False, 'volume type'), defaults[keys.OBJECT_MAP])
        # Ceph's configuration determines the other features.
        self.assertNotIn(keys.FEATURES, defaults)

    def test_whole_stripes_if_one_wants_them(self) -> None:
        told = _answer(
            {},
            back_end.settings(require_whole_stripes=False),
            back_end.settings(),
        )
        self.assertTrue(told['require_whole_stripes'])

    def test_reason_names_no_pool_to_those_who_may_not_see_pools(
        self,
    ) -> None:
        specs = {keys.DATA_POOL: 'secret/pool'}
        offer = offers.TypeOffer(specs, (back_end.settings(),))
        for shows_pools in (True, False):
            reason = offer.answer(_TYPE, (), shows_pools)['reason']
            self.assertIn(keys.DATA_POOL, reason)
            self.assertIs(shows_pools, 'secret' in reason)
