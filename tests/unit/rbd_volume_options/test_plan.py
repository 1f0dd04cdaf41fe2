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


class SourceTestCase(refusals.RefusalTestCase):
    def test_clone_is_as_its_source(self) -> None:
        """Only the data pool is that of the type or the back end."""
        # Features that follow from the layout or the pool are left out.
        implied = {'striping', 'data-pool'}
        for image_layout, image_features in (
            (ImageLayout(8 * MIB), _LEAST),
            (ImageLayout(8 * MIB, Striping(512, 3)), _DEFAULT),
        ):
            state = options.image_values(
                image_layout, image_features | implied, 'ec-data'
            )
            level = inheritance.level_of(Origin.SOURCE_VOLUME, state)
            self.assertEqual(
                _said(
                    Origin.SOURCE_VOLUME,
                    object_size=8 * MIB,
                    striping=image_layout.striping,
                    image_features=image_features,
                    plain={keys.SECTOR_SIZE: None},
                ),
                level,
            )
            self.assertEqual(
                option_values.planned(image_layout, image_features),
                # Limits do not apply to the values of an existing image.
                _plan(level, base=_STRIPED, size=3 * GIB),
            )

    def test_stock_image_has_the_defaults_of_the_cluster(self) -> None:
        striping = Striping(64 * KIB, 8)
        self.assertEqual(_STRIPED, plan.stock_image(4 * MIB, striping, _LEAST))
        self.assertEqual(
            options.image_values(ImageLayout(4 * MIB), frozenset()),
            plan.stock_image(4 * MIB, None, None),
        )


class PlanTestCase(refusals.RefusalTestCase):
    def test_nothing_asked_is_what_stock_makes(self) -> None:
        # This applies even if our rules would refuse the layout. Only librbd
        # refuses too large an object map.
        huge = ImageLayout(4 * KIB, Striping(512, 3))
        mode = {keys.CACHE_MODE: cache_modes.CacheMode.WRITEBACK}
        for levels in (
            (),
            (_said(_BY_METADATA), _said(Origin.BACKEND)),
            (_said(_BY_TYPE, plain=mode),),
        ):
            for image_layout in (_STOCK.layout, _STRIPED.layout, huge):
                made = _plan(
                    *levels,
                    base=options.image_values(image_layout, _LEAST),
                    size=8 * 1024 * TIB + 512,
                )
                self.assertEqual(option_values.planned(), made)

    def test_only_what_is_asked_is_planned(self) -> None:
        planned = option_values.planned
        for said, expected in (
            ({'object_size': 8 * MIB}, planned(ImageLayout(8 * MIB))),
            (
                {'striping': Striping(64 * KIB, 16)},
                planned(ImageLayout(4 * MIB, Striping(64 * KIB, 16))),
            ),
            (
                {'object_size': 32 * MIB, 'striping': Striping(32 * MIB, 4)},
                planned(ImageLayout(32 * MIB, Striping(32 * MIB, 4))),
            ),
            # Striping that is none.
            (
                {'striping': Striping(4 * MIB, 1)},
                planned(ImageLayout(4 * MIB)),
            ),
            ({'object_map': False}, planned(image_features=_NO_MAP)),
            ({'object_map': True}, planned(image_features=_DEFAULT)),
            ({'image_features': _LEAST}, planned(image_features=_LEAST)),
            ({'data_pool': 'ec-data'}, planned(data_pool='ec-data')),
        ):
            for origin in (_BY_METADATA, _BY_TYPE, Origin.BACKEND):
                self.assertEqual(expected, _plan(_said(origin, **said)))

    def test_an_object_size_keeps_the_default_striping(self) -> None:
        self.assertEqual(
            option_values.planned(ImageLayout(8 * MIB, Striping(64 * KIB, 8))),
            _plan(_said(_BY_TYPE, object_size=8 * MIB), base=_STRIPED),
        )
        # Stripes that Ceph's configuration sets need not be whole.
        odd = options.image_values(
            ImageLayout(4 * MIB, Striping(512, 3)), _LEAST
        )
        made = _plan(_said(_BY_TYPE, object_size=8 * MIB), base=odd)
        self.assertEqual(ImageLayout(8 * MIB, Striping(512, 3)), made.layout)


@ddt.ddt
class RefusedTestCase(refusals.RefusalTestCase):
    """Each rule names the origin of the refused value."""

    @ddt.data(*errors.GIVEN)
    def test_striping_that_is_requested_is_limited(
        self, origin: Origin
    ) -> None:
        for striping, key, value, reason, allowed in (
            (
                Striping(8 * MIB, 2),
                *('rbd:stripe_unit', 8 * MIB),
                'not a factor of the object size, 4 MiB',
                'a power of two from 512 bytes to 4 MiB',
            ),
            (
                Striping(64 * KIB, 128),
                *('rbd:stripe_count', 128),
                'more than this back end allows',
                '1 to 64',
            ),
            (
                Striping(64 * KIB, 3),
                *('rbd:stripe_count', 3),
                '1 GiB is not a multiple of 64 KiB x 3',
                'values whose product divides the size, such as powers of two',
            ),
        ):
            self.assertRefused(
                functools.partial(_plan, _said(origin, striping=striping)),
                key,
                value,
                reason,
                allowed,
                origin,
            )
        allowed_by_operator = operator_limits.Limits(
            require_whole_stripes=False
        )
        level = _said(origin, striping=Striping(64 * KIB, 3))
        made = _plan(level, how=allowed_by_operator)
        self.assertEqual(Striping(64 * KIB, 3), made.layout.striping)

    @ddt.data(*errors.ASKED)
    def test_object_size_that_is_requested_is_limited(
        self, origin: Origin
    ) -> None:
        self.assertRefused(
            lambda: _plan(_said(origin, object_size=32 * KIB)),
            'rbd:object_size',
            32 * KIB,
            'smaller than this back end allows',
            'a power of two from 64 KiB to 32 MiB',
            origin,
        )

    def test_object_size_of_the_back_end_is_not_limited(self) -> None:
        few = operator_limits.Limits(max_objects=1000)
        small = _said(Origin.BACKEND, object_size=32 * KIB)
        self.assertEqual(32 * KIB, _plan(small, how=few).layout.object_size)
        # Unless a key sets the striping.
        striped = _said(_BY_METADATA, striping=Striping(32 * KIB, 2))
        error = self.assertRaises(
            errors.OptionError, _plan, small, striped, how=few
        )
        self.assertEqual(_BY_METADATA, error.origin)
        self.assertIn('has 32,768 objects', error.reason)

    def test_object_size_under_the_unit_of_another_level(self) -> None:
        small = _said(_BY_METADATA, object_size=4 * KIB)
        for levels, base, origin in (
            *(
                ([_said(o, striping=Striping(64 * KIB, 8))], _STOCK, o)
                for o in (_BY_TYPE, Origin.SOURCE_VOLUME, Origin.BACKEND)
            ),
            ([], _STRIPED, Origin.CLUSTER),
        ):
            self.assertRefused(
                functools.partial(_plan, small, *levels, base=base),
                'rbd:stripe_unit',
                64 * KIB,
                'not a factor of the object size, 4 KiB',
                origin=origin,
            )

    @ddt.data(Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE, Origin.CLUSTER)
    def test_a_stripe_count_that_an_image_has(self, origin: Origin) -> None:
        striping = Striping(64 * KIB, 128)
        self.assertEqual(
            ImageLayout(4 * MIB, striping),
            _plan(_said(origin, striping=striping)).layout,
        )

    def _refuses_objects(self, *args: Any, **kwargs: Any) -> None:
        self.assertRefused(
            functools.partial(_plan, *args, **kwargs),
            'rbd:object_size',
            65536,
            'a volume of 1 GiB (64 KiB objects) has 16,384 objects',
            origin=_BY_METADATA,
        )

    def test_number_of_objects_is_limited(self) -> None:
        level = _said(_BY_METADATA, object_size=64 * KIB)
        how = operator_limits.Limits(max_objects=1000)
        # A source without striping does not change the message.
        state = options.image_values(ImageLayout(4 * MIB), _LEAST)
        source = inheritance.level_of(Origin.SOURCE_VOLUME, state)
        self._refuses_objects(level, how=how)
        self._refuses_objects(level, source, how=how)
        # Layouts with librbd's object size can have any number.
        large = _said(_BY_METADATA, object_size=4 * MIB)
        how = operator_limits.Limits(max_objects=1)
        self.assertIsNotNone(_plan(large, how=how).layout)

    def test_image_without_object_map_may_have_fewer_objects(self) -> None:
        """Its deletion sends a request for each object that could exist."""
        level = _said(_BY_METADATA, object_size=64 * KIB)
        disabled = _said(_BY_METADATA, object_size=64 * KIB, object_map=False)
        without = options.image_values(ImageLayout(4 * MIB), _LEAST)
        unknown = options.image_values(ImageLayout(4 * MIB), frozenset())
        enough = operator_limits.Limits(max_objects=1 << 18)
        less = operator_limits.Limits(max_objects=1 << 17)
        few = operator_limits.Limits(max_objects=1 << 14)
        self._refuses_objects(level, base=without, how=less)
        self._refuses_objects(disabled, base=unknown, how=few)
        # Features that are unknown refuse nothing.
        for base, how in ((without, enough), (_STOCK, few), (unknown, few)):
            self.assertIsNotNone(_plan(level, base=base, how=how).layout)

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
            self.assertRaises(
                errors.OptionError, plan.plan_image, shared, base, GIB, few
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

    def test_map_that_is_too_large_is_refused_at_its_origin(self) -> None:
        size = {'object_size': 4 * KIB}
        by_tenant = _said(_BY_METADATA, **size)
        cases: tuple[tuple[Any, ...], ...] = (
            *(
                (origin, _said(origin, **size, object_map=True))
                for origin in errors.GIVEN
            ),
            (_BY_TYPE, by_tenant, _said(_BY_TYPE, object_map=True)),
            (
                Origin.BACKEND,
                by_tenant,
                _said(Origin.BACKEND, image_features=_WITH_MAP),
            ),
            (
                Origin.SOURCE_VOLUME,
                by_tenant,
                inheritance.level_of(Origin.SOURCE_VOLUME, _STOCK_WITH_MAP),
            ),
            # librbd gives it to the image, or to a clone of a Glance image.
            (Origin.CLUSTER, by_tenant),
            (
                Origin.CLUSTER,
                by_tenant,
                _said(Origin.GLANCE_IMAGE, object_size=8 * MIB),
            ),
        )
        for origin, *levels in cases:
            self._assert_too_many(origin, *levels)

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
