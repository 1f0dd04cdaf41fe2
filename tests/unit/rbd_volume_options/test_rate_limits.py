# SPDX-License-Identifier: Apache-2.0

import functools

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
        options.parse(of_volume or {}, keys.Scope.VOLUME),
        options.parse(of_type, keys.Scope.TYPE),
        options.parse(of_backend or {}, keys.Scope.BACKEND),
    ]
    resolved = options.resolve(levels)
    return rate_limits.limits_of(resolved, gib * sizes.GIB, is_accepted)


_BY_SIZE = {'rbd:iops_limit_per_gib': '3'}
_FLOOR = {**_BY_SIZE, 'rbd:iops_limit_minimum': '100'}
_MOST = {'rbd:iops_limit_maximum': '200'}
_BURST = {
    'rbd:read_iops_limit': '100',
    'rbd:read_iops_burst': '300',
    'rbd:read_iops_burst_seconds': '60',
}


def _iops(limit: int | None, burst: int | None = None) -> dict[str, int]:
    values = {'rbd:iops_limit': limit, 'rbd:iops_burst': burst}
    return {key: value for key, value in values.items() if value is not None}


def _own(limit: int | None, burst: int | None = None) -> _Texts:
    return {key: str(value) for key, value in _iops(limit, burst).items()}


@ddt.ddt
class LimitsTestCase(refusals.RefusalTestCase):
    @ddt.data(
        # Extra specs, metadata, size in GiB, and the limits.
        # A limit follows from the size, or from the maximum of the type.
        (_BY_SIZE, {}, 1, _iops(3)),
        (_BY_SIZE, {}, 10, _iops(30)),
        (_FLOOR, {}, 10, _iops(100)),
        ({**_BY_SIZE, **_MOST}, {}, 100, _iops(200)),
        (_MOST, {}, 1, _iops(200)),
        # It is at most what librbd accepts.
        (
            *({'rbd:bps_limit_per_gib': '1G'}, {}, 10**4),
            {'rbd:bps_limit': 1 << 40},
        ),
        # That of a volume overrides it, up to the maximum of the type, or to
        # what the size gives.
        (
            {'rbd:bps_limit_per_gib': '1M'},
            *({'rbd:bps_limit': '1M'}, 2, {'rbd:bps_limit': 1 << 20}),
        ),
        ({**_BY_SIZE, **_MOST}, _own(200), 1, _iops(200)),
        (_FLOOR, _own(600), 200, _iops(600)),
        # The minimum of the type can be less than the usual one, and the
        # largest of a small type is always possible.
        (
            {'rbd:iops_limit_per_gib': '500', 'rbd:iops_limit_minimum': '5'},
            *(_own(5), 1, _iops(5)),
        ),
        ({'rbd:iops_limit_maximum': '3'}, _own(3), 1, _iops(3)),
        (_BY_SIZE, _own(3), 1, _iops(3)),
        # Administrators can set any.
        (_own(1), {}, 1, _iops(1)),
        # A burst and its length go with the limit.
        (_BURST, {}, 1, {key: int(text) for key, text in _BURST.items()}),
        ({}, _BURST, 1, {key: int(text) for key, text in _BURST.items()}),
        (
            {'rbd:iops_limit_per_gib': '300'},
            *(_own(50, 300), 1, _iops(50, 300)),
        ),
        # That of the type can be larger, and gives way to a larger limit.
        (
            {'rbd:iops_limit_per_gib': '300', **_own(None, 301)},
            *({}, 1, _iops(300, 301)),
        ),
        (
            {**_own(100, 200), 'rbd:iops_burst_seconds': '5'},
            *(_own(500), 1, _iops(500)),
        ),
        ({**_BY_SIZE, **_own(None, 200)}, {}, 1, _iops(3, 200)),
        ({**_BY_SIZE, **_own(None, 200)}, {}, 100, _iops(300)),
        # Limits of different kinds are independent.
        (
            {'rbd:read_bps_limit': '1K', 'rbd:write_iops_limit': '7'},
            *({}, 1, {'rbd:read_bps_limit': 1024, 'rbd:write_iops_limit': 7}),
        ),
    )
    @ddt.unpack
    def test_limits_follow_from_type_volume_and_size(
        self, of_type: _Texts, own: _Texts, gib: int, limits: dict[str, int]
    ) -> None:
        self.assertEqual(limits, _limits(of_type, own, gib=gib))

    @ddt.data(
        # Extra specs, metadata, the key, the reason, and what is allowed.
        ({}, {'rbd:write_iops_limit': '9'}, 'less', f'10 to {10**9}'),
        ({}, {'rbd:bps_limit': '1048575'}, 'less', f'{1 << 20} to {1 << 40}'),
        (
            {**_FLOOR, 'rbd:iops_limit_per_gib': '500'},
            *(_own(99), 'less', '100 to 500'),
        ),
        ({'rbd:iops_limit_maximum': '3'}, _own(2), 'less', '3 to 3'),
        (_BY_SIZE, _own(2), 'less', '3 to 3'),
        (_MOST, _own(201), 'more', '10 to 200'),
        (_FLOOR, _own(101), 'more', '100 to 100'),
        (
            {'rbd:iops_limit_per_gib': '300'},
            *(_own(None, 301), 'more', '1 to 300'),
        ),
    )
    @ddt.unpack
    def test_value_of_a_volume_is_in_the_range_of_its_type(
        self, of_type: _Texts, own: _Texts, word: str, allowed: str
    ) -> None:
        ((key, text),) = own.items()
        self.assertRefused(
            lambda: _limits(of_type, own),
            key,
            int(text),
            f'{word} than the volume type allows',
            allowed,
            errors.Origin.VOLUME_METADATA,
        )

    @ddt.data(
        (_own(100, 50), {}, 'burst', 'less than rbd:iops_limit = 100'),
        (_own(100), _own(None, 50), 'burst', 'less than rbd:iops_limit = 100'),
        (_own(None, 50), {}, 'burst', 'set without rbd:iops_limit'),
        (
            {**_own(50), 'rbd:iops_burst_seconds': '5'},
            *({}, 'burst_seconds', 'set without rbd:iops_burst'),
        ),
        (
            *({**_BY_SIZE, **_own(50)}, {}, 'limit_per_gib'),
            'set together with rbd:iops_limit',
        ),
        (
            {'rbd:iops_limit_minimum': '5'},
            *({}, 'limit_minimum', 'set without rbd:iops_limit_per_gib'),
        ),
        (
            *(_MOST, _own(50, 201), 'burst'),
            'more than the volume type allows',
        ),
    )
    @ddt.unpack
    def test_contradiction_is_refused(
        self, of_type: _Texts, own: _Texts, word: str, reason: str
    ) -> None:
        error = self.assertRaises(errors.OptionError, _limits, of_type, own)
        self.assertEqual(f'rbd:iops_{word}', error.key)
        self.assertEqual(reason, error.reason)

    def test_default_of_the_back_end_fits_all_volumes(self) -> None:
        for of_type, of_backend, limits in (
            (_MOST, _own(900, 1000), _iops(200, 200)),
            ({}, _own(None, 9), {}),
            ({}, {'rbd:iops_burst_seconds': '9'}, {}),
        ):
            made = _limits(of_type, of_backend=of_backend)
            self.assertEqual(limits, made)

    def test_limit_of_an_existing_volume_becomes_the_nearest_one(self) -> None:
        """Without it, the volume would have none."""
        for of_type, own, limits in (
            ({}, _own(5), _iops(10)),
            (_MOST, _own(500, 900), _iops(200, 200)),
            ({}, _own(5, 7), _iops(10)),
        ):
            self.assertEqual(limits, _limits(of_type, own, is_accepted=True))


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
