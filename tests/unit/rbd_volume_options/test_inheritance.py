# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import request
from tests import option_values
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

Origin = errors.Origin

_STRIPED = layout.ImageLayout(MIB, layout.Striping(64 * KIB, 8))
_PLAIN = layout.ImageLayout(4 * MIB)
_LEAST = frozenset({'layering'})
_MAP = _LEAST | {'exclusive-lock', 'object-map', 'fast-diff'}
_STOCK = options.image_values(_PLAIN, _MAP)
_ALL_KEYS = frozenset(registry.volume_keys())


def _source(
    origin: Origin,
    image_layout: layout.ImageLayout = _STRIPED,
    image_features: frozenset[str] = _MAP,
) -> inheritance.Source:
    """Return a source whose parts all have the same origin."""
    state = options.image_values(image_layout, image_features, 'fast')
    return inheritance.volume_source(
        state, dict.fromkeys(options.PARTS, origin)
    )


def _made(
    source: inheritance.Source,
    *levels: options.Values,
    settable: frozenset[str] = frozenset(),
    size: int = GIB,
    stock: options.Values = _STOCK,
    **bounds: Any,
) -> options.Values:
    settings = dataclasses.replace(
        cinder_objects.settings(), limits=operator_limits.Limits(**bounds)
    )
    requested = request.Request(levels, settings)
    return inheritance.NewImage(
        requested,
        settable,
        size,
        lambda: stock,
    ).resolve(source)


@ddt.ddt
class LayoutTest(base.TestCase):
    """A layout is inherited if the new volume could have requested it."""

    def _layout(self, *args: Any, **kwargs: Any) -> layout.ImageLayout:
        return _made(*args, **kwargs).layout_over(_PLAIN)

    def test_requested_and_allowed(self) -> None:
        source = _source(Origin.VOLUME_METADATA)
        self.assertEqual(_STRIPED, self._layout(source, settable=_ALL_KEYS))

    @ddt.data(Origin.VOLUME_METADATA, Origin.VOLUME_TYPE)
    def test_requested_and_not_allowed(self, origin: Origin) -> None:
        self.assertEqual(_PLAIN, self._layout(_source(origin)))

    @ddt.data(Origin.CLUSTER, Origin.BACKEND, Origin.GLANCE_IMAGE)
    def test_not_requested(self, origin: Origin) -> None:
        """A layout that was not requested needs no permission."""
        self.assertEqual(_STRIPED, self._layout(_source(origin)))

    def test_half_of_it_allowed(self) -> None:
        """A layout is inherited as a whole or not at all."""
        settable = frozenset({keys.STRIPE_UNIT, keys.STRIPE_COUNT})
        source = _source(Origin.VOLUME_METADATA)
        self.assertEqual(_PLAIN, self._layout(source, settable=settable))

    def test_what_the_type_gives_is_not_inherited(self) -> None:
        of_type = option_values.level(Origin.VOLUME_TYPE, object_size=MIB)
        settable = frozenset({keys.STRIPE_UNIT, keys.STRIPE_COUNT})
        source = _source(Origin.VOLUME_METADATA)
        self.assertEqual(
            _STRIPED, self._layout(source, of_type, settable=settable)
        )
        self.assertEqual(
            layout.ImageLayout(MIB), self._layout(source, of_type)
        )

    def test_what_a_new_volume_would_have_anyway(self) -> None:
        of_backend = option_values.level(
            Origin.BACKEND,
            object_size=MIB,
            striping=layout.Striping(64 * KIB, 8),
        )
        made = _made(_source(Origin.VOLUME_TYPE), of_backend)
        self.assertEqual(_STRIPED, made.layout)

    @ddt.named_data(
        ['stripe_count', {'max_stripe_count': 4}],
        ['object_size', {'min_object_size': 4 * MIB}],
        ['objects', {'max_objects': 1000}],
        ['size', {'size': GIB + MIB // 4}],
    )
    def test_over_a_limit(self, bounds: dict[str, int]) -> None:
        for origin in (Origin.VOLUME_METADATA, Origin.GLANCE_IMAGE):
            made = self._layout(_source(origin), settable=_ALL_KEYS, **bounds)
            self.assertEqual(_PLAIN, made)
        made = self._layout(_source(Origin.CLUSTER), **bounds)
        self.assertEqual(_STRIPED, made)

    def test_layout_of_source_with_map_is_not_inherited_without_map(
        self,
    ) -> None:
        """Without an object map, an image may have fewer objects."""
        source = _source(
            Origin.VOLUME_METADATA, layout.ImageLayout(64 * KIB), _MAP
        )
        allowed: dict[str, Any] = {
            'settable': _ALL_KEYS,
            'max_objects': 1 << 14,
        }
        self.assertEqual(
            layout.ImageLayout(64 * KIB), self._layout(source, **allowed)
        )
        for level in (
            option_values.level(Origin.VOLUME_METADATA, object_map=False),
            option_values.level(Origin.VOLUME_METADATA, image_features=_LEAST),
        ):
            self.assertEqual(_PLAIN, self._layout(source, level, **allowed))

    def test_layout_depends_on_the_map_that_is_inherited(self) -> None:
        """The features of the source can be replaced by the default."""
        without = options.image_values(_PLAIN, _LEAST)
        source = _source(
            Origin.VOLUME_TYPE, layout.ImageLayout(64 * KIB), _MAP
        )
        for more, inherited in (
            ({keys.OBJECT_MAP, keys.FEATURES}, layout.ImageLayout(64 * KIB)),
            (set(), _PLAIN),
        ):
            made = _made(
                source,
                settable=frozenset({keys.OBJECT_SIZE, *more}),
                stock=without,
                max_objects=1 << 14,
            )
            self.assertEqual(inherited, made.layout_over(_PLAIN))

    def test_layout_glance_source_depends_on_the_default_map(self) -> None:
        level = option_values.level(
            Origin.GLANCE_IMAGE,
            object_size=64 * KIB,
            striping=layout.Striping(4 * KIB, 2),
        )
        source = inheritance.Source(
            Origin.GLANCE_IMAGE,
            level,
            dict.fromkeys(options.PARTS, Origin.GLANCE_IMAGE),
        )
        without = options.image_values(_PLAIN, _LEAST)
        for stock, inherited in ((_STOCK, 64 * KIB), (without, 4 * MIB)):
            made = _made(source, stock=stock, max_objects=1 << 14)
            self.assertEqual(inherited, made.layout_over(_PLAIN).object_size)

    def test_what_does_not_fit_the_type(self) -> None:
        small = option_values.level(Origin.VOLUME_TYPE, object_size=64 * KIB)
        wide = layout.ImageLayout(4 * MIB, layout.Striping(MIB, 4))
        for origin in (Origin.VOLUME_METADATA, Origin.CLUSTER):
            self.assertEqual(
                layout.ImageLayout(64 * KIB),
                self._layout(_source(origin, wide), small, settable=_ALL_KEYS),
            )

    def test_metadata_that_does_not_fit_the_source_is_an_error(self) -> None:
        """Its creator can correct it; nothing is replaced silently."""
        small = option_values.level(Origin.VOLUME_METADATA, object_size=4096)
        for origin in (Origin.VOLUME_METADATA, Origin.CLUSTER):
            made = self._layout(
                _source(origin), small, settable=_ALL_KEYS, min_object_size=512
            )
            self.assertRaises(errors.OptionError, layout.check_unit, made)

    def test_no_striping_is_inherited_too(self) -> None:
        of_backend = option_values.level(
            Origin.BACKEND,
            striping=layout.Striping(64 * KIB, 4),
        )
        source = _source(Origin.VOLUME_METADATA, layout.ImageLayout(8 * MIB))
        self.assertEqual(
            layout.ImageLayout(8 * MIB),
            self._layout(source, of_backend, settable=_ALL_KEYS),
        )
        self.assertEqual(
            layout.ImageLayout(4 * MIB, layout.Striping(64 * KIB, 4)),
            self._layout(source, of_backend),
        )


@ddt.ddt
class FeaturesTest(base.TestCase):
    def _features(self, *args: Any, **kwargs: Any) -> set[str]:
        return set(_made(*args, **kwargs).features_over(_STOCK.image_features))

    @ddt.named_data(
        ['requested', Origin.VOLUME_METADATA, [], _MAP],
        ['of_a_type', Origin.VOLUME_TYPE, [], _MAP],
        ['not_requested', Origin.CLUSTER, [], _LEAST | {'exclusive-lock'}],
        [
            'allowed',
            Origin.VOLUME_METADATA,
            [keys.FEATURES],
            _LEAST | {'exclusive-lock'},
        ],
        [
            'allowed_by_the_object_map',
            Origin.VOLUME_METADATA,
            [keys.OBJECT_MAP],
            _LEAST | {'exclusive-lock'},
        ],
    )
    def test_features_are_inherited_if_requested_and_allowed(
        self, origin: Origin, settable: list[str], made: frozenset[str]
    ) -> None:
        source = _source(origin, image_features=_LEAST | {'exclusive-lock'})
        self.assertEqual(
            made, self._features(source, settable=frozenset(settable))
        )

    def test_more_than_the_object_map(self) -> None:
        source = _source(
            Origin.VOLUME_METADATA, image_features=_MAP | {'journaling'}
        )
        self.assertEqual(
            _MAP,
            self._features(source, settable=frozenset({keys.OBJECT_MAP})),
        )


class DataPoolTest(base.TestCase):
    def test_data_pool_is_never_inherited(self) -> None:
        made = _made(_source(Origin.CLUSTER), settable=_ALL_KEYS)
        self.assertIsNone(made.data_pool)
