# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import precedence
from rbd_volume_options import qos
from rbd_volume_options import sizes
from tests.unit.rbd_volume_options import refusals

_Texts = dict[str, str]


def _limits(
    of_type: _Texts,
    of_volume: _Texts | None = None,
    gib: int = 1,
    of_backend: _Texts | None = None,
) -> dict[str, int]:
    levels = [
        precedence.Level(origin, options.parse(texts, scope, origin))
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
    resolved = precedence.resolve(levels)
    return qos.limits_of(resolved.plain, gib * sizes.GIB)


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
            {'rbd:bps_limit': 4096}, _limits(by_size, {'rbd:bps_limit': '4K'})
        )

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
            '1 to 600',
            errors.Origin.VOLUME_METADATA,
        )

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
