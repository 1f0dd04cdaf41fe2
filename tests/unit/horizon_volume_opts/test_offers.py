# SPDX-License-Identifier: Apache-2.0

"""The options that a volume type offers, and their validation."""

from typing import Any

import ddt

from horizon_volume_opts import offers
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import sizes
from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud

_BY_TYPE = {'default_from': 'volume type'}


def _offer(**changes: Any) -> offers.UserOffer:
    return offers.UserOffer.of(fake_cloud.offered('rbd', **changes))


@ddt.ddt
class OfferTestCase(base.TestCase):
    def test_origin_of_a_later_release_is_unknown(self) -> None:
        for told, origin in (
            ('volume type', errors.Origin.VOLUME_TYPE),
            ('backend configuration', errors.Origin.BACKEND),
            ('of a later release', None),
            (None, None),
        ):
            offer = _offer(object_size={'default_from': told})
            self.assertIs(origin, offer.origin('rbd:object_size'))

    def test_limits_come_from_the_answer(self) -> None:
        limits = _offer(stripe_count={'maximum': 5}).limits
        self.assertEqual(5, limits.max_stripe_count)

    @ddt.data(
        ({}, ''),
        ({'iops_limit': {'default': 500}}, ''),
        (
            {'iops_limit': {'default': 500, 'maximum': 900, **_BY_TYPE}},
            '500 operations per second',
        ),
        (
            {'read_bps_burst': {'default': 2**20, **_BY_TYPE}},
            '1 MiB per second for reads for a short time',
        ),
        (
            {'write_iops_limit': {'maximum': 500}},
            'at most 500 writes per second',
        ),
        (
            {
                'iops_limit': {
                    'per_gib': 3,
                    'per_gib_minimum': 100,
                    'maximum': 5000,
                }
            },
            '3 operations per second for each GiB of the volume, '
            'at least 100 operations per second, '
            'at most 5,000 operations per second',
        ),
    )
    @ddt.unpack
    def test_limits_of_the_type_in_words(
        self, changes: dict[str, Any], words: str
    ) -> None:
        offer = _offer(**changes)
        self.assertEqual(words, offer.limits_in_words())
        kept = [f'rbd:{name}' for name in changes]
        self.assertEqual('', offer.limits_in_words(kept))

    def test_limits_of_qos_specs_stand_beside_those_of_keys(self) -> None:
        answer = fake_cloud.offered('rbd', iops_limit={'per_gib': 3})
        offer = offers.UserOffer.of(
            {**answer, 'qos_limits': fake_cloud.LIMITS}
        )
        words = offer.limits_in_words()
        self.assertIn('500 reads per second, ', words)
        self.assertIn(', 3 operations per second for each GiB', words)

    @ddt.data(
        {'rbd:object_size': '8M'},
        {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'},
        {'rbd:object_map': 'false'},
        {'rbd:features': 'layering'},
        {'rbd:cache_mode': 'writeback'},
        # The volume type can set the limit, which only Cinder knows.
        {'rbd:iops_burst': '300'},
        {'rbd:read_bps_burst_seconds': '5'},
    )
    def test_offer_accepts_valid_metadata(
        self, metadata: dict[str, str]
    ) -> None:
        _offer().check(metadata, sizes.GIB)

    @ddt.data(
        (
            {'rbd:stripe_unit': '8M', 'rbd:stripe_count': '2'},
            'rbd:stripe_unit',
            'not a factor of the object size, 4 MiB',
        ),
        (
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '65'},
            'rbd:stripe_count',
            'more than this back end',
        ),
        (
            {'rbd:features': 'deep-flatten,layering'},
            'rbd:features',
            'not allowed by this volume type: deep-flatten',
        ),
        ({'rbd:cache_mode': 'directsync'}, 'rbd:cache_mode', 'not allowed'),
        ({'rbd:data_pool': 'p'}, 'rbd:data_pool', 'not a key of volume'),
    )
    @ddt.unpack
    def test_offer_refuses_invalid_metadata(
        self, metadata: dict[str, str], key: str, words: str
    ) -> None:
        error = self.assertRaises(
            errors.OptionError, _offer().check, metadata, sizes.GIB
        )
        self.assertEqual(key, error.key)
        self.assertIn(words, str(error))

    def test_a_source_comes_before_the_back_end(self) -> None:
        source = options.image_values(layout.ImageLayout(2**20), frozenset())
        metadata = {'rbd:stripe_unit': '2M', 'rbd:stripe_count': '2'}
        _offer().check(metadata, sizes.GIB)
        error = self.assertRaises(
            errors.OptionError, _offer().check, metadata, sizes.GIB, source
        )
        self.assertIn('1 MiB', str(error))

    def test_the_type_comes_before_a_source(self) -> None:
        source = options.image_values(layout.ImageLayout(2**20), frozenset())
        offer = _offer(object_size={'default_from': 'volume type'})
        offer.check(
            {'rbd:stripe_unit': '2M', 'rbd:stripe_count': '2'},
            sizes.GIB,
            source,
        )
