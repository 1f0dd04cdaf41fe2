# SPDX-License-Identifier: Apache-2.0

import functools
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import rate_limits
from rbd_volume_options import sizes
from tests.unit.rbd_volume_options import refusals

_Texts = dict[str, str]


@ddt.ddt
class MaximaTest(refusals.RefusalTestCase):
    """QoS specs of a type are the maximum of what tenants may choose."""

    _OWN = ('rbd:iops_limit',)

    def test_each_limit_of_qos_specs_is_the_maximum_of_its_keys(self) -> None:
        others = {'total_iops_sec': '', 'read_iops_sec': '5', 'other': '1'}
        for key, limit in (
            ('iops_limit', 'total_iops_sec'),
            ('iops_burst', 'total_iops_sec'),
            ('read_iops_limit', 'read_iops_sec'),
            ('write_iops_limit', 'write_iops_sec'),
            ('bps_limit', 'total_bytes_sec'),
            ('read_bps_limit', 'read_bytes_sec'),
            ('write_bps_limit', 'write_bytes_sec'),
        ):
            name = key.rpartition('_')[0]
            self.assertEqual(
                {f'rbd:{name}_limit_maximum': '70'},
                rate_limits.maxima_of(
                    {**others, limit: '70'}, {}, [f'rbd:{key}']
                ),
            )

    def test_type_can_set_another_maximum(self) -> None:
        limits = {'total_iops_sec': '70'}
        for specs, expected in (
            ({'rbd:iops_limit_maximum': '500'}, {}),
            ({'rbd:iops_limit_per_gib': '1'}, {}),
            # The limit of the type itself stays possible.
            ({'rbd:iops_limit': '500'}, {'rbd:iops_limit_maximum': '500'}),
        ):
            maxima = rate_limits.maxima_of(limits, specs, self._OWN)
            self.assertEqual(expected, maxima)
        self.assertEqual({'rbd:iops_limit': 500}, _limits({**specs, **maxima}))

    def test_number_is_read_as_ceph_reads_it(self) -> None:
        for text, wanted in (
            ('1K', '1000'),
            ('2Ki', '2048'),
            (' 3M ', '3000000'),
            ('+07K', '7000'),
            ('9' * 30, str(10**9)),
            *((text, None) for text in ('', '0', None, 'x', '-1', '\u0663')),
        ):
            maxima = rate_limits.maxima_of(
                {'total_iops_sec': text}, {}, self._OWN
            )
            expected = {'rbd:iops_limit_maximum': wanted} if wanted else {}
            self.assertEqual(expected, maxima)


def _limits(
    of_type: _Texts,
    of_volume: _Texts | None = None,
    gib: int = 1,
    of_backend: _Texts | None = None,
    is_accepted: bool = False,
) -> dict[str, int]:
    levels = [
        options.parse(texts, scope, origin)
        for texts, scope, origin in (
            (
                of_volume or {},
                keys.Scope.VOLUME,
                errors.Origin.VOLUME_METADATA,
            ),
            (of_type, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE),
            (of_backend or {}, keys.Scope.BACKEND, errors.Origin.BACKEND),
        )
    ]
    resolved = options.resolve(levels)
    return rate_limits.limits_of(resolved, gib * sizes.GIB, is_accepted)


@ddt.ddt
class LimitsTestCase(refusals.RefusalTestCase):
    @ddt.data(
        (1, {'rbd:iops_limit_per_gib': '3'}, 3),
        (10, {'rbd:iops_limit_per_gib': '3'}, 30),
        (
            10,
            {'rbd:iops_limit_per_gib': '3', 'rbd:iops_limit_minimum': '100'},
            100,
        ),
        (
            100,
            {'rbd:iops_limit_per_gib': '3', 'rbd:iops_limit_maximum': '200'},
            200,
        ),
        (1, {'rbd:iops_limit_maximum': '200'}, 200),
    )
    @ddt.unpack
    def test_limit_follows_from_size_and_maximum(
        self, gib: int, of_type: _Texts, limit: int
    ) -> None:
        self.assertEqual({'rbd:iops_limit': limit}, _limits(of_type, gib=gib))

    def test_default_of_the_back_end_is_at_most_the_maximum_of_a_type(
        self,
    ) -> None:
        defaults = {'rbd:iops_limit': '900', 'rbd:iops_burst': '1000'}
        self.assertEqual(
            {'rbd:iops_limit': 200, 'rbd:iops_burst': 200},
            _limits({'rbd:iops_limit_maximum': '200'}, of_backend=defaults),
        )

    @ddt.data('rbd:iops_burst', 'rbd:iops_burst_seconds')
    def test_default_burst_without_a_limit_has_no_effect(
        self, key: str
    ) -> None:
        self.assertEqual({}, _limits({}, of_backend={key: '9'}))

    def test_limit_by_size_is_at_most_what_librbd_accepts(self) -> None:
        of_type = {'rbd:bps_limit_per_gib': '1G'}
        self.assertEqual(
            {'rbd:bps_limit': 1 << 40}, _limits(of_type, gib=10**4)
        )

    def test_limit_of_a_volume_overrides_that_of_its_size(self) -> None:
        by_size = {'rbd:bps_limit_per_gib': '1M'}
        self.assertEqual(
            {'rbd:bps_limit': 1 << 20},
            _limits(by_size, {'rbd:bps_limit': '1M'}, gib=2),
        )

    def _assert_too_small(
        self, of_type: _Texts, key: str, value: int, allowed: str
    ) -> None:
        self.assertRefused(
            lambda: _limits(of_type, {key: str(value)}),
            key,
            value,
            'less than the volume type allows',
            allowed,
            errors.Origin.VOLUME_METADATA,
        )

    def test_owner_cannot_choose_a_limit_that_blocks_copies(self) -> None:
        for key, smallest, largest in (
            ('rbd:write_iops_limit', 10, 10**9),
            ('rbd:bps_limit', 1 << 20, 1 << 40),
        ):
            allowed = f'{smallest} to {largest}'
            self._assert_too_small({}, key, smallest - 1, allowed)
            own = {key: smallest}
            self.assertEqual(own, _limits({}, {key: str(smallest)}))
            # Administrators can.
            self.assertEqual({key: 1}, _limits({key: '1'}))

    def test_minimum_of_the_type_bounds_the_limit_of_a_volume(self) -> None:
        by_size = {
            'rbd:iops_limit_per_gib': '500',
            'rbd:iops_limit_minimum': '100',
        }
        self._assert_too_small(by_size, 'rbd:iops_limit', 99, '100 to 500')
        by_size['rbd:iops_limit_minimum'] = '5'
        own = {'rbd:iops_limit': '5'}
        self.assertEqual({'rbd:iops_limit': 5}, _limits(by_size, own))

    def test_owner_can_choose_the_largest_limit_of_a_small_type(self) -> None:
        own = {'rbd:iops_limit': '3'}
        for of_type in (
            {'rbd:iops_limit_maximum': '3'},
            {'rbd:iops_limit_per_gib': '3'},
        ):
            self.assertEqual({'rbd:iops_limit': 3}, _limits(of_type, own))
            self._assert_too_small(of_type, 'rbd:iops_limit', 2, '3 to 3')

    def test_limit_of_a_volume_is_at_most_the_maximum_of_its_type(
        self,
    ) -> None:
        by_size = {
            'rbd:iops_limit_per_gib': '3',
            'rbd:iops_limit_maximum': '5000',
        }
        own = {'rbd:iops_limit': '5000'}
        self.assertEqual({'rbd:iops_limit': 5000}, _limits(by_size, own))

    def test_limit_of_a_volume_is_at_most_that_of_its_size(self) -> None:
        """The type sets no maximum."""
        by_size = {
            'rbd:iops_limit_per_gib': '3',
            'rbd:iops_limit_minimum': '100',
        }
        largest = {'rbd:iops_limit': '600'}
        self.assertEqual(
            {'rbd:iops_limit': 600}, _limits(by_size, largest, gib=200)
        )
        self.assertRefused(
            lambda: _limits(by_size, {'rbd:iops_limit': '601'}, gib=200),
            'rbd:iops_limit',
            601,
            'more than the volume type allows',
            '100 to 600',
            errors.Origin.VOLUME_METADATA,
        )

    def test_burst_of_a_volume_is_at_most_the_limit_of_its_size(self) -> None:
        by_size = {'rbd:iops_limit_per_gib': '300'}
        own = {'rbd:iops_limit': '50', 'rbd:iops_burst': '300'}
        limits = {'rbd:iops_limit': 50, 'rbd:iops_burst': 300}
        self.assertEqual(limits, _limits(by_size, own))
        for limit in ({}, {'rbd:iops_limit': '50'}):
            own = {**limit, 'rbd:iops_burst': '301'}
            self.assertRefused(
                functools.partial(_limits, by_size, own),
                'rbd:iops_burst',
                301,
                'more than the volume type allows',
                '1 to 300',
                errors.Origin.VOLUME_METADATA,
            )
        # The type can have a larger one.
        by_size['rbd:iops_burst'] = '301'
        self.assertIn('rbd:iops_burst', _limits(by_size))

    @ddt.data(
        ({}, {'rbd:iops_limit': '5'}, {'rbd:iops_limit': 10}),
        (
            {'rbd:iops_limit_maximum': '100'},
            {'rbd:iops_limit': '500', 'rbd:iops_burst': '900'},
            {'rbd:iops_limit': 100, 'rbd:iops_burst': 100},
        ),
        (
            {},
            {'rbd:iops_limit': '5', 'rbd:iops_burst': '7'},
            {'rbd:iops_limit': 10},
        ),
    )
    @ddt.unpack
    def test_limit_of_an_existing_volume_becomes_the_nearest_one(
        self, of_type: _Texts, of_volume: _Texts, limits: dict[str, int]
    ) -> None:
        """Without it, the volume would have none."""
        self.assertEqual(limits, _limits(of_type, of_volume, is_accepted=True))

    def test_burst_and_its_length_go_with_the_limit(self) -> None:
        wanted = {
            'rbd:read_iops_limit': 100,
            'rbd:read_iops_burst': 300,
            'rbd:read_iops_burst_seconds': 60,
        }
        texts = {key: str(value) for key, value in wanted.items()}
        self.assertEqual(wanted, _limits(texts))
        self.assertEqual(wanted, _limits({}, texts))

    def test_burst_of_the_type_gives_way_to_a_larger_limit(self) -> None:
        of_type = {
            'rbd:iops_limit': '100',
            'rbd:iops_burst': '200',
            'rbd:iops_burst_seconds': '5',
        }
        self.assertEqual(
            {'rbd:iops_limit': 500},
            _limits(of_type, {'rbd:iops_limit': '500'}),
        )
        by_size = {'rbd:iops_limit_per_gib': '3', 'rbd:iops_burst': '200'}
        self.assertIn('rbd:iops_burst', _limits(by_size, gib=1))
        self.assertEqual({'rbd:iops_limit': 300}, _limits(by_size, gib=100))

    @ddt.data(
        (
            {'rbd:iops_limit': '100', 'rbd:iops_burst': '50'},
            {},
            *('rbd:iops_burst', 'less than rbd:iops_limit = 100'),
        ),
        (
            {'rbd:iops_limit': '100'},
            {'rbd:iops_burst': '50'},
            *('rbd:iops_burst', 'less than rbd:iops_limit = 100'),
        ),
        (
            {'rbd:iops_burst': '50'},
            {},
            *('rbd:iops_burst', 'set without rbd:iops_limit'),
        ),
        (
            {'rbd:iops_limit': '50', 'rbd:iops_burst_seconds': '5'},
            {},
            *('rbd:iops_burst_seconds', 'set without rbd:iops_burst'),
        ),
        (
            {'rbd:iops_limit': '50', 'rbd:iops_limit_per_gib': '5'},
            {},
            *('rbd:iops_limit_per_gib', 'set together with rbd:iops_limit'),
        ),
        (
            {'rbd:iops_limit_minimum': '5'},
            {},
            *('rbd:iops_limit_minimum', 'without rbd:iops_limit_per_gib'),
        ),
        (
            {'rbd:iops_limit_maximum': '100'},
            {'rbd:iops_limit': '101'},
            *('rbd:iops_limit', 'more than the volume type allows'),
        ),
        (
            {'rbd:iops_limit_maximum': '100'},
            {'rbd:iops_limit': '50', 'rbd:iops_burst': '101'},
            *('rbd:iops_burst', 'more than the volume type allows'),
        ),
    )
    @ddt.unpack
    def test_contradiction_is_refused(
        self, of_type: _Texts, of_volume: _Texts, key: str, reason: str
    ) -> None:
        error: Any = self.assertRaises(
            errors.OptionError, _limits, of_type, of_volume
        )
        self.assertEqual(key, error.key)
        self.assertIn(reason, error.reason)

    def test_limits_of_different_kinds_are_independent(self) -> None:
        self.assertEqual(
            {'rbd:read_bps_limit': 1024, 'rbd:write_iops_limit': 7},
            _limits({'rbd:read_bps_limit': '1K', 'rbd:write_iops_limit': '7'}),
        )


@ddt.ddt
class SlowWorkTest(refusals.RefusalTestCase):
    @ddt.data(
        (rate_limits.REIMAGE, 100, {'rbd:bps_limit': 63 << 20}, True),
        (rate_limits.REIMAGE, 100, {'rbd:write_bps_limit': 63 << 20}, True),
        (rate_limits.REIMAGE, 100, {'rbd:write_bps_limit': 64 << 20}, False),
        (rate_limits.REIMAGE, 1, {'rbd:write_iops_limit': 14}, True),
        (rate_limits.REIMAGE, 1, {'rbd:iops_limit': 15}, False),
        (
            *(rate_limits.REIMAGE, 1024),
            {'rbd:read_bps_limit': 1, 'rbd:read_iops_limit': 1},
            False,
        ),
        (rate_limits.UPLOAD, 1, {'rbd:bps_limit': 1 << 20}, True),
        # Small volumes that a limit makes wait for more than a minute.
        (rate_limits.UPLOAD, 1, {'rbd:bps_limit': 14 << 20}, True),
        (rate_limits.UPLOAD, 1, {'rbd:bps_limit': 15 << 20}, False),
        (rate_limits.UPLOAD, 8, {'rbd:bps_limit': 20 << 20}, False),
        (rate_limits.UPLOAD, 8, {'rbd:bps_limit': 19 << 20}, True),
        (rate_limits.UPLOAD, 100, {'rbd:read_bps_limit': 63 << 20}, True),
        (rate_limits.UPLOAD, 100, {'rbd:read_bps_limit': 64 << 20}, False),
        # An upload that takes hours with and without its limit.
        (rate_limits.UPLOAD, 16384, {'rbd:bps_limit': 1 << 30}, False),
        (rate_limits.UPLOAD, 1, {'rbd:iops_limit': 230}, True),
        (rate_limits.UPLOAD, 1, {'rbd:read_iops_limit': 240}, False),
        (
            *(rate_limits.UPLOAD, 1024),
            {'rbd:write_bps_limit': 1, 'rbd:write_iops_limit': 1},
            False,
        ),
        (
            *(rate_limits.COPY, 1),
            {'rbd:read_iops_limit': 14, 'rbd:write_iops_limit': 14},
            True,
        ),
        (rate_limits.COPY, 1, {'rbd:bps_limit': 15 << 20}, False),
    )
    @ddt.unpack
    def test_work_is_slow_if_a_limit_delays_it_for_long(
        self,
        work: dict[str, int],
        gib: int,
        limits: dict[str, int],
        is_slow: bool,
    ) -> None:
        delaying = functools.partial(rate_limits.delaying, work, gib << 30)
        self.assertEqual(
            list(limits) if is_slow else [], delaying(limits, limits)
        )
        # That of the type, or one that is not in force.
        self.assertEqual([], delaying(limits, {}))
        self.assertEqual([], delaying({}, limits))
