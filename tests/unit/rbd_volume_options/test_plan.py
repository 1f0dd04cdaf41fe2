# SPDX-License-Identifier: Apache-2.0

import dataclasses
import functools
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB

Origin = errors.Origin
ImageLayout = layout.ImageLayout
Striping = layout.Striping

_DEFAULT = frozenset(
    {'layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten'}
)
_NO_MAP = frozenset({'layering', 'exclusive-lock', 'deep-flatten'})
_LEAST = frozenset({'layering'})

#: The image that the stock driver creates on an ordinary back end.
_STOCK = options.image_values(ImageLayout(4 * MIB), _DEFAULT)
#: The same if ceph.conf has rbd_default_stripe_unit and _count.
_STRIPED = options.image_values(
    ImageLayout(4 * MIB, Striping(64 * KIB, 8)), _LEAST
)

_BY_METADATA = Origin.VOLUME_METADATA
_BY_TYPE = Origin.VOLUME_TYPE


def _said(origin: Origin, **said: Any) -> options.Values:
    return option_values.level(origin, **said)


def _plan(
    *levels: options.Values,
    base: options.Values = _STOCK,
    size: int = GIB,
    how: operator_limits.Limits | None = None,
) -> options.Values:
    return plan.plan_image(
        options.resolve(levels), base, size, how or operator_limits.Limits()
    )


@ddt.ddt
class LevelOfTestCase(refusals.RefusalTestCase):
    def test_what_an_image_says(self) -> None:
        state = options.image_values(
            ImageLayout(8 * MIB, Striping(64 * KIB, 16)),
            _DEFAULT | {'striping', 'data-pool'},
            'ec-data',
        )
        self.assertEqual(
            _said(
                Origin.SOURCE_VOLUME,
                object_size=8 * MIB,
                striping=Striping(64 * KIB, 16),
                # Features that follow from the layout or the pool are left
                # out.
                image_features=_DEFAULT,
                plain={keys.SECTOR_SIZE: None},
            ),
            inheritance.level_of(Origin.SOURCE_VOLUME, state),
        )

    def test_a_plain_image(self) -> None:
        self.assertEqual(
            _said(
                Origin.GLANCE_IMAGE,
                object_size=4 * MIB,
                striping=None,
                image_features=_LEAST,
            ),
            inheritance.level_of(
                Origin.GLANCE_IMAGE,
                options.image_values(ImageLayout(4 * MIB), _LEAST),
            ),
        )

    @ddt.named_data(
        ['plain', ImageLayout(8 * MIB), _LEAST, None],
        ['striped', ImageLayout(8 * MIB, Striping(512, 3)), _DEFAULT, 'data'],
    )
    def test_a_clone_is_as_its_source(
        self,
        image_layout: ImageLayout,
        image_features: frozenset[str],
        data_pool: str | None,
    ) -> None:
        state = options.image_values(image_layout, image_features, data_pool)
        self.assertEqual(
            # The data pool is omitted; the type or the back end provides it.
            option_values.planned(image_layout, image_features),
            _plan(
                inheritance.level_of(Origin.SOURCE_VOLUME, state),
                base=_STRIPED,
                # Limits do not apply to the values of an existing image.
                size=3 * GIB,
            ),
        )


class StockImageTestCase(refusals.RefusalTestCase):
    def test_defaults_of_the_cluster(self) -> None:
        striping = Striping(64 * KIB, 8)
        state = plan.stock_image(4 * MIB, striping, _LEAST)
        self.assertEqual(_STRIPED, state)

    def test_unknown_defaults(self) -> None:
        expected = options.image_values(ImageLayout(4 * MIB), frozenset())
        self.assertEqual(expected, plan.stock_image(4 * MIB, None, None))


@ddt.ddt
class PlanTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['nothing', []],
        ['silent_levels', [_said(_BY_METADATA), _said(Origin.BACKEND)]],
        [
            'cache_mode_only',
            [
                _said(
                    _BY_TYPE,
                    plain={keys.CACHE_MODE: cache_modes.CacheMode.WRITEBACK},
                )
            ],
        ],
    )
    def test_nothing_asked_is_what_stock_makes(
        self, levels: list[options.Values]
    ) -> None:
        # This applies even if our rules would refuse the layout. Only librbd
        # refuses too large an object map.
        huge = options.image_values(
            ImageLayout(4 * KIB, Striping(512, 3)), _LEAST
        )
        bases = (
            base.with_values({keys.FEATURES: _LEAST})
            for base in (_STOCK, _STRIPED, huge)
        )
        for base in bases:
            self.assertEqual(
                option_values.planned(),
                _plan(*levels, base=base, size=8 * 1024 * TIB + 512),
            )

    @ddt.named_data(
        [
            'object_size',
            {'object_size': 8 * MIB},
            option_values.planned(ImageLayout(8 * MIB)),
        ],
        [
            'striping',
            {'striping': Striping(64 * KIB, 16)},
            option_values.planned(
                ImageLayout(4 * MIB, Striping(64 * KIB, 16))
            ),
        ],
        [
            'both',
            {'object_size': 32 * MIB, 'striping': Striping(32 * MIB, 4)},
            option_values.planned(
                ImageLayout(32 * MIB, Striping(32 * MIB, 4))
            ),
        ],
        [
            'striping_that_is_none',
            {'striping': Striping(4 * MIB, 1)},
            option_values.planned(ImageLayout(4 * MIB)),
        ],
        [
            'no_map',
            {'object_map': False},
            option_values.planned(image_features=_NO_MAP),
        ],
        [
            'map',
            {'object_map': True},
            option_values.planned(image_features=_DEFAULT),
        ],
        [
            'features',
            {'image_features': _LEAST},
            option_values.planned(image_features=_LEAST),
        ],
        [
            'data_pool',
            {'data_pool': 'ec-data'},
            option_values.planned(data_pool='ec-data'),
        ],
    )
    def test_only_what_is_asked(
        self, said: dict[str, Any], expected: options.Values
    ) -> None:
        for origin in (_BY_METADATA, _BY_TYPE, Origin.BACKEND):
            self.assertEqual(expected, _plan(_said(origin, **said)))

    def test_an_object_size_keeps_the_default_striping(self) -> None:
        self.assertEqual(
            option_values.planned(ImageLayout(8 * MIB, Striping(64 * KIB, 8))),
            _plan(_said(_BY_TYPE, object_size=8 * MIB), base=_STRIPED),
        )

    def test_as_a_tenant_writes_it(self) -> None:
        items = {
            'rbd:stripe_unit': '64K',
            'rbd:stripe_count': '8',
            'rbd:object_map': 'true',
        }
        said = options.parse(items, keys.Scope.VOLUME, Origin.VOLUME_METADATA)
        base = options.image_values(ImageLayout(4 * MIB), _LEAST)
        self.assertEqual(
            option_values.planned(
                ImageLayout(4 * MIB, Striping(64 * KIB, 8)),
                frozenset(
                    {'layering', 'exclusive-lock', 'object-map', 'fast-diff'}
                ),
            ),
            _plan(said, base=base, size=8 * GIB),
        )


@ddt.ddt
class RefusedTestCase(refusals.RefusalTestCase):
    """Each rule names the origin of the refused value."""

    @ddt.data(_BY_METADATA, _BY_TYPE, Origin.BACKEND)
    def test_unit_over_object_size(self, origin: Origin) -> None:
        self.assertRefused(
            lambda: _plan(_said(origin, striping=Striping(8 * MIB, 2))),
            'rbd:stripe_unit',
            8 * MIB,
            'not a factor of the object size, 4 MiB',
            'a power of two from 512 bytes to 4 MiB',
            origin,
        )

    @ddt.named_data(
        ['type', _BY_TYPE],
        ['source', Origin.SOURCE_VOLUME],
        ['backend', Origin.BACKEND],
    )
    def test_object_size_under_the_unit_of_another_level(
        self, of_unit: Origin
    ) -> None:
        self.assertRefused(
            lambda: _plan(
                _said(_BY_METADATA, object_size=4 * KIB),
                _said(of_unit, striping=Striping(64 * KIB, 8)),
            ),
            'rbd:stripe_unit',
            64 * KIB,
            'not a factor of the object size, 4 KiB',
            origin=of_unit,
        )

    def test_object_size_under_the_default_unit(self) -> None:
        self.assertRefused(
            lambda: _plan(
                _said(_BY_METADATA, object_size=4 * KIB), base=_STRIPED
            ),
            'rbd:stripe_unit',
            64 * KIB,
            'not a factor of the object size, 4 KiB',
            origin=Origin.CLUSTER,
        )

    @ddt.data(_BY_METADATA, _BY_TYPE, Origin.BACKEND)
    def test_stripe_count_over_the_limit(self, origin: Origin) -> None:
        self.assertRefused(
            lambda: _plan(_said(origin, striping=Striping(64 * KIB, 128))),
            'rbd:stripe_count',
            128,
            'more than this back end allows',
            '1 to 64',
            origin,
        )

    @ddt.data(Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE, Origin.CLUSTER)
    def test_a_stripe_count_that_an_image_has(self, origin: Origin) -> None:
        striping = Striping(64 * KIB, 128)
        self.assertEqual(
            ImageLayout(4 * MIB, striping),
            _plan(_said(origin, striping=striping)).layout,
        )

    @ddt.data(_BY_METADATA, _BY_TYPE, Origin.BACKEND)
    def test_stripes_that_are_not_whole(self, origin: Origin) -> None:
        level = _said(origin, striping=Striping(64 * KIB, 3))
        self.assertRefused(
            lambda: _plan(level),
            'rbd:stripe_count',
            3,
            '1 GiB is not a multiple of 64 KiB x 3',
            origin=origin,
        )
        allowed = operator_limits.Limits(require_whole_stripes=False)
        self.assertEqual(
            ImageLayout(4 * MIB, Striping(64 * KIB, 3)),
            _plan(level, how=allowed).layout,
        )

    def test_too_many_objects_whatever_else_the_source_has(self) -> None:
        """A source without striping does not change the message."""
        state = options.image_values(ImageLayout(4 * MIB), _LEAST)
        how = operator_limits.Limits(max_objects=1000)
        level = _said(_BY_METADATA, object_size=64 * KIB)
        source = inheritance.level_of(Origin.SOURCE_VOLUME, state)
        for levels in ([level], [level, source]):
            self.assertRefused(
                functools.partial(_plan, *levels, how=how),
                'rbd:object_size',
                65536,
                'a volume of 1 GiB (64 KiB objects) has 16,384 objects',
                origin=_BY_METADATA,
            )

    def test_default_map_that_is_too_large_is_refused_without_keys(
        self,
    ) -> None:
        with_map = frozenset({'exclusive-lock', 'object-map', 'fast-diff'})
        base = options.image_values(ImageLayout(4 * MIB), with_map)
        error = self.assertRaises(
            errors.OptionError,
            plan.plan_image,
            *(options.Values(), base, 1 << 50, operator_limits.Limits()),
        )
        self.assertEqual(errors.Origin.CLUSTER, error.origin)
        self.assertIn('up to 256,000,000 objects', str(error))

    def test_image_without_object_map_may_have_fewer_objects(self) -> None:
        """Its deletion sends a request for each object that could exist."""
        base = options.image_values(ImageLayout(4 * MIB), _LEAST)
        level = _said(_BY_METADATA, object_size=64 * KIB)
        self.assertRefused(
            functools.partial(
                _plan,
                level,
                base=base,
                how=operator_limits.Limits(max_objects=1 << 17),
            ),
            'rbd:object_size',
            65536,
            'a volume of 1 GiB (64 KiB objects) has 16,384 objects',
            origin=_BY_METADATA,
        )
        enough = operator_limits.Limits(max_objects=1 << 18)
        self.assertIsNotNone(_plan(level, base=base, how=enough).layout)
        mapped = options.image_values(
            base.layout,
            _LEAST | {'exclusive-lock', 'object-map', 'fast-diff'},
        )
        few = operator_limits.Limits(max_objects=1 << 14)
        self.assertIsNotNone(_plan(level, base=mapped, how=few).layout)

    def test_multiattach_type_has_no_object_map(self) -> None:
        """The stock driver disables it after the image was created."""
        resolved = options.resolve(
            [
                _said(
                    _BY_METADATA, object_size=64 * KIB, image_features=_DEFAULT
                )
            ]
        )
        few = operator_limits.Limits(max_objects=1 << 14)
        plan.plan_image(resolved, _STOCK, GIB, few)
        shared = dataclasses.replace(resolved, multiattach=True)
        for base in (_STOCK, options.UNKNOWN):
            self.assertRefused(
                functools.partial(plan.plan_image, shared, base, GIB, few),
                'rbd:object_size',
                65536,
                'a volume of 1 GiB (64 KiB objects) has 16,384 objects',
                origin=_BY_METADATA,
            )

    def test_map_that_is_disabled_counts_if_features_are_unknown(
        self,
    ) -> None:
        unknown = options.image_values(ImageLayout(4 * MIB), frozenset())
        level = _said(_BY_METADATA, object_size=64 * KIB, object_map=False)
        few = operator_limits.Limits(max_objects=1 << 14)
        self.assertRaises(
            errors.OptionError, _plan, level, base=unknown, how=few
        )

    def test_features_that_are_unknown_refuse_nothing(self) -> None:
        unknown = options.image_values(ImageLayout(4 * MIB), frozenset())
        level = _said(_BY_METADATA, object_size=64 * KIB)
        few = operator_limits.Limits(max_objects=1 << 14)
        self.assertIsNotNone(_plan(level, base=unknown, how=few).layout)

    def test_default_stripes_need_not_be_whole(self) -> None:
        base = options.image_values(
            ImageLayout(4 * MIB, Striping(512, 3)), _LEAST
        )
        made = _plan(_said(_BY_TYPE, object_size=8 * MIB), base=base)
        self.assertEqual(ImageLayout(8 * MIB, Striping(512, 3)), made.layout)


_WITH_MAP = _NO_MAP | {'object-map', 'fast-diff'}
_STOCK_WITH_MAP = options.image_values(layout.ImageLayout(4 * MIB), _WITH_MAP)


def _plan_large(
    *levels: options.Values, base: options.Values = _STOCK_WITH_MAP
) -> options.Values:
    return plan.plan_image(
        options.resolve(levels),
        base,
        2 * TIB,
        operator_limits.Limits(min_object_size=4 * KIB, max_objects=1 << 40),
    )


class ObjectMapTestCase(refusals.RefusalTestCase):
    """Object maps for 2 TiB in objects of 4 KiB."""

    def _assert_too_many(
        self, origin: Origin, *levels: options.Values, **kwargs: Any
    ) -> None:
        self.assertRefused(
            lambda: _plan_large(*levels, **kwargs),
            'rbd:object_map',
            'true',
            'a volume of 2048 GiB (4 KiB objects) has 536,870,912 objects',
            'up to 256,000,000 objects; use a larger rbd:object_size, '
            'or rbd:object_map = false',
            origin,
        )

    def test_both_asked_at_one_level(self) -> None:
        for origin in (_BY_METADATA, _BY_TYPE, Origin.BACKEND):
            self._assert_too_many(
                origin,
                _said(origin, object_size=4 * KIB, object_map=True),
            )

    def test_map_and_object_size_from_two_levels(self) -> None:
        self._assert_too_many(
            _BY_TYPE,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(_BY_TYPE, object_map=True),
        )

    def test_map_in_a_list_of_features(self) -> None:
        self._assert_too_many(
            Origin.BACKEND,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(Origin.BACKEND, image_features=_WITH_MAP),
        )

    def test_map_that_the_source_has(self) -> None:
        self._assert_too_many(
            Origin.SOURCE_VOLUME,
            _said(_BY_METADATA, object_size=4 * KIB),
            inheritance.level_of(Origin.SOURCE_VOLUME, _STOCK_WITH_MAP),
        )

    def test_map_that_librbd_gives_by_itself(self) -> None:
        self._assert_too_many(
            Origin.CLUSTER, _said(_BY_METADATA, object_size=4 * KIB)
        )

    def test_map_that_librbd_gives_to_a_clone(self) -> None:
        self._assert_too_many(
            Origin.CLUSTER,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(Origin.GLANCE_IMAGE, object_size=8 * MIB),
        )

    def test_objects_that_stock_would_make(self) -> None:
        self._assert_too_many(
            _BY_METADATA,
            _said(_BY_METADATA, object_map=True),
            base=options.image_values(layout.ImageLayout(4 * KIB), _LEAST),
        )

    def test_without_the_map_any_size(self) -> None:
        level = _said(_BY_METADATA, object_size=4 * KIB, object_map=False)
        self.assertEqual(
            option_values.planned(layout.ImageLayout(4 * KIB), _NO_MAP),
            _plan_large(level),
        )
