#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

import ddt

from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

CacheMode = cache_modes.CacheMode
Origin = errors.Origin


class DefaultsTestCase(refusals.RefusalTestCase):
    def test_defaults(self) -> None:
        default = limits.Limits()
        self.assertEqual(64, default.max_stripe_count)
        self.assertIs(True, default.require_whole_stripes)
        self.assertEqual(
            'none, writethrough, writeback, directsync',
            cache_modes.joined(default.cache_modes),
        )
        self.assertEqual(frozenset(), default.tenant_options)


@ddt.ddt
class TenantKeysTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['nothing_given', [], ['rbd:object_map']],
        ['nothing_given_or_allowed', [], []],
        ['what_is_allowed', ['rbd:object_map'], ['rbd:object_map']],
        ['some_of_it', ['rbd:object_map'], list(keys.VOLUME_KEYS)],
    )
    def test_may(self, given: list[str], allowed: list[str]) -> None:
        limits.check_tenant_keys(frozenset(given), frozenset(allowed))

    @ddt.named_data(
        [
            'another',
            ['rbd:object_map', 'rbd:stripe_unit'],
            ['rbd:stripe_count', 'rbd:object_map'],
            'rbd:stripe_unit',
            'rbd:stripe_count, rbd:object_map',
        ],
        ['none', ['rbd:features'], [], 'rbd:features', 'no rbd: key at all'],
        [
            'the_first_of_two',
            ['rbd:object_size', 'rbd:cache_mode'],
            ['rbd:object_map'],
            'rbd:cache_mode',
            'rbd:object_map',
        ],
    )
    def test_may_not(
        self, given: list[str], may: list[str], key: str, allowed: str
    ) -> None:
        self.assertRefused(
            lambda: limits.check_tenant_keys(frozenset(given), frozenset(may)),
            key,
            'given',
            'not for tenants to set on this volume type',
            allowed,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class StripeCountTestCase(refusals.RefusalTestCase):
    def _check(self, count: int, most: int) -> None:
        limits.check_stripe_count(
            layout.Striping(64 * KIB, count),
            limits.Limits(max_stripe_count=most),
            Origin.VOLUME_TYPE,
        )

    @ddt.data((1, 1), (16, 64), (64, 64))
    @ddt.unpack
    def test_allowed(self, count: int, most: int) -> None:
        self._check(count, most)

    @ddt.data((2, 1), (65, 64), (100000, 64))
    @ddt.unpack
    def test_too_many(self, count: int, most: int) -> None:
        self.assertRefused(
            lambda: self._check(count, most),
            'rbd:stripe_count',
            count,
            'more than this backend allows',
            f'1 to {most}',
            Origin.VOLUME_TYPE,
        )


@ddt.ddt
class CacheModeTestCase(refusals.RefusalTestCase):
    @ddt.data(*cache_modes.SAFE_CACHE_MODES)
    def test_allowed(self, mode: CacheMode) -> None:
        limits.check_cache_mode(mode, limits.Limits(), Origin.VOLUME_METADATA)

    def test_unsafe_only_where_it_is_listed(self) -> None:
        self.assertRefused(
            lambda: limits.check_cache_mode(
                CacheMode.UNSAFE, limits.Limits(), Origin.BACKEND
            ),
            'rbd:cache_mode',
            'unsafe',
            'not allowed by this backend',
            'none, writethrough, writeback, directsync',
            Origin.BACKEND,
        )
        limits.check_cache_mode(
            CacheMode.UNSAFE,
            limits.Limits(cache_modes=(CacheMode.UNSAFE,)),
            Origin.BACKEND,
        )

    @ddt.named_data(
        [
            'another',
            (CacheMode.NONE, CacheMode.DIRECTSYNC),
            'none, directsync',
        ],
        ['nothing', (), 'none at all'],
    )
    def test_refused(
        self, listed: tuple[CacheMode, ...], allowed: str
    ) -> None:
        self.assertRefused(
            lambda: limits.check_cache_mode(
                CacheMode.WRITEBACK,
                limits.Limits(cache_modes=listed),
                Origin.VOLUME_METADATA,
            ),
            'rbd:cache_mode',
            'writeback',
            'not allowed by this backend',
            allowed,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class UnitTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['smallest', 4 * MIB, 512],
        ['ordinary', 4 * MIB, 64 * KIB],
        ['the_whole_object', 4 * MIB, 4 * MIB],
        ['smallest_object', 4 * KIB, 4 * KIB],
        ['largest_object', 32 * MIB, 32 * MIB],
    )
    def test_factor(self, object_size: int, unit: int) -> None:
        limits.check_unit(
            layout.ImageLayout(object_size, layout.Striping(unit, 8))
        )

    def test_no_striping(self) -> None:
        limits.check_unit(layout.ImageLayout(4 * MIB))

    @ddt.named_data(
        ['twice_the_object', 4 * MIB, 8 * MIB, '4 MiB'],
        ['much_larger', 4 * KIB, 32 * MIB, '4 KiB'],
        ['no_divisor', 4 * MIB, 3 * MIB, '4 MiB'],
        ['one_less', 64 * KIB, 64 * KIB - 1, '64 KiB'],
    )
    def test_no_factor(self, object_size: int, unit: int, text: str) -> None:
        self.assertRefused(
            lambda: limits.check_unit(
                layout.ImageLayout(object_size, layout.Striping(unit, 8)),
                Origin.VOLUME_TYPE,
            ),
            'rbd:stripe_unit',
            unit,
            f'not a factor of the object size, {text}',
            f'a power of two from 512 bytes to {text}',
            Origin.VOLUME_TYPE,
        )


@ddt.ddt
class WholeStripesTestCase(refusals.RefusalTestCase):
    def _check(
        self,
        striping: layout.Striping | None,
        size: int,
        required: bool = True,
    ) -> None:
        limits.check_whole_stripes(
            layout.ImageLayout(4 * MIB, striping),
            size,
            limits.Limits(require_whole_stripes=required),
            Origin.BACKEND,
        )

    @ddt.named_data(
        ['powers_of_two', 64 * KIB, 8, GIB],
        ['one_stripe_is_the_volume', 4 * MIB, 256, GIB],
        ['three_in_three_gib', 4 * MIB, 3, 3 * GIB],
        ['odd_count_of_small_units', 512, 3, 3 * GIB],
    )
    def test_whole(self, unit: int, count: int, size: int) -> None:
        self._check(layout.Striping(unit, count), size)

    @ddt.named_data(
        [
            'three_in_one_gib',
            4 * MIB,
            3,
            GIB,
            '1 GiB is no multiple of 4 MiB x 3',
        ],
        [
            'stripe_over_volume',
            4 * MIB,
            512,
            GIB,
            '1 GiB is no multiple of 4 MiB x 512',
        ],
        [
            'half_a_stripe_more',
            64 * KIB,
            8,
            GIB + 256 * KIB,
            '1048832 KiB is no multiple of 64 KiB x 8',
        ],
        [
            'a_byte_more',
            512,
            1,
            GIB + 1,
            '1073741825 B is no multiple of 512 B x 1',
        ],
    )
    def test_not_whole(
        self, unit: int, count: int, size: int, reason: str
    ) -> None:
        striping = layout.Striping(unit, count)
        self.assertRefused(
            lambda: self._check(striping, size),
            'rbd:stripe_count',
            count,
            reason,
            'a stripe_unit x stripe_count that divides the size, '
            'such as powers of two',
            Origin.BACKEND,
        )
        # librbd itself doesn't need it, so an operator can turn it off.
        self._check(striping, size, required=False)

    def test_no_striping_no_stripes(self) -> None:
        self._check(None, 4 * MIB + 1)
