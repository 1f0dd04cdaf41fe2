# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from collections.abc import Iterable
import itertools
import random
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit import base

KIB = 1024
MIB = 1024 * KIB

CacheMode = cache_modes.CacheMode
Choice = options.Choice
Origin = errors.Origin

_STRIPING = layout.Striping(64 * KIB, 8)

# A value of each key for each level; different values if possible.
_SAID: dict[str, Callable[[Origin], object]] = {
    keys.OBJECT_SIZE: lambda origin: 4096 << origin,
    keys.STRIPING: lambda origin: layout.Striping(4096, int(origin)),
    keys.OBJECT_MAP: lambda origin: origin % 2 == 0,
    keys.FEATURES: lambda origin: frozenset({'layering', f'{origin}'}),
    keys.DATA_POOL: lambda origin: f'pool-{int(origin)}',
    # The mode none and false are values like the others.
    keys.CACHE_MODE: lambda origin: list(CacheMode)[origin % 5],
}

# These always define the striping: None for an image that is not striped.
_IMAGES = (Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE)


def _level(origin: Origin, values: dict[str, Any]) -> options.Values:
    if origin in _IMAGES:
        values = {keys.STRIPING: None, **values}
    return options.of_one_origin(origin, values)


def _subsets() -> Iterable[tuple[Origin, ...]]:
    for length in range(len(Origin) + 1):
        yield from itertools.combinations(Origin, length)


@ddt.ddt
class EachKeyTestCase(base.TestCase):
    @ddt.data(*_SAID)
    def test_highest_level_that_sets_a_key_takes_precedence(
        self, key: str
    ) -> None:
        draw = random.Random(6)
        for speakers in _subsets():
            silent = set(Origin) - set(speakers)
            if key == keys.STRIPING:
                silent -= set(_IMAGES)
            levels = [_level(o, {key: _SAID[key](o)}) for o in speakers]
            levels += [_level(o, {}) for o in silent]
            # The order of the levels in the list has no effect.
            draw.shuffle(levels)
            expected = None
            if speakers:
                first = min(speakers)
                expected = Choice(_SAID[key](first), first)
            self.assertEqual(
                expected, options.resolve(levels).choice(key), f'{speakers}'
            )

    def test_keys_are_resolved_one_by_one(self) -> None:
        levels: dict[Origin, dict[str, Any]] = {
            Origin.VOLUME_METADATA: {keys.OBJECT_SIZE: 8 * MIB},
            Origin.VOLUME_TYPE: {keys.CACHE_MODE: CacheMode.WRITEBACK},
            Origin.BACKEND: {keys.STRIPING: _STRIPING, keys.OBJECT_MAP: True},
            Origin.CLUSTER: {keys.DATA_POOL: 'data'},
        }
        lower = {keys.OBJECT_SIZE: 4 * MIB, keys.OBJECT_MAP: False}
        resolved = options.resolve(
            options.of_one_origin(origin, {**lower, **values})
            if origin is Origin.CLUSTER
            else options.of_one_origin(origin, values)
            for origin, values in levels.items()
        )
        self.assertEqual(
            {
                key: Choice(value, origin)
                for origin, values in levels.items()
                for key, value in values.items()
            },
            {key: resolved.choice(key) for key in resolved},
        )
        self.assertEqual(options.Values(), options.resolve([]))


class StripingTestCase(base.TestCase):
    """Stripe unit and stripe count always come from the same level."""

    def test_image_without_striping_decides_like_one_with_it(self) -> None:
        for image, origin, first in (
            (Origin.SOURCE_VOLUME, Origin.VOLUME_TYPE, Origin.VOLUME_TYPE),
            (Origin.SOURCE_VOLUME, Origin.BACKEND, Origin.SOURCE_VOLUME),
            (Origin.GLANCE_IMAGE, Origin.BACKEND, Origin.BACKEND),
            (Origin.GLANCE_IMAGE, Origin.CLUSTER, Origin.GLANCE_IMAGE),
        ):
            resolved = options.resolve(
                [
                    _level(origin, {keys.STRIPING: _STRIPING}),
                    _level(image, {}),
                ]
            )
            value = None if first is image else _STRIPING
            self.assertEqual(
                Choice(value, first), resolved.choice(keys.STRIPING)
            )
            below = layout.ImageLayout(4 * MIB, layout.Striping(4096, 2))
            self.assertEqual(
                layout.ImageLayout(4 * MIB, value), resolved.layout_over(below)
            )


@ddt.ddt
class FeaturesTestCase(base.TestCase):
    """A list of features also decides about the object map."""

    def test_above_below_or_beside_a_list(self) -> None:
        listed = frozenset({'layering', 'exclusive-lock'})
        for at, of_map in itertools.product(Origin, Origin):
            values: dict[Origin, dict[str, Any]] = {
                at: {keys.FEATURES: listed}
            }
            values.setdefault(of_map, {})[keys.OBJECT_MAP] = True
            resolved = options.resolve(
                [_level(origin, each) for origin, each in values.items()]
            )
            self.assertEqual(
                Choice(listed, at), resolved.choice(keys.FEATURES)
            )
            counts = of_map <= at
            self.assertEqual(
                Choice(True, of_map) if counts else None,
                resolved.choice(keys.OBJECT_MAP),
                f'{at!r}, {of_map!r}',
            )
            self.assertEqual(
                listed | {'object-map', 'fast-diff'} if counts else listed,
                resolved.features_over(frozenset({'journaling'})),
            )

    @ddt.data(
        (None, 'exclusive-lock,journaling,layering'),
        (True, 'exclusive-lock,fast-diff,journaling,layering,object-map'),
        (False, 'exclusive-lock,journaling,layering'),
    )
    @ddt.unpack
    def test_object_map_without_a_list_keeps_the_other_features(
        self, object_map: bool | None, expected: str
    ) -> None:
        said = {} if object_map is None else {keys.OBJECT_MAP: object_map}
        resolved = options.resolve([_level(Origin.VOLUME_TYPE, said)])
        base_features = frozenset({'layering', 'journaling', 'exclusive-lock'})
        self.assertEqual(
            set(expected.split(',')), resolved.features_over(base_features)
        )


class LayoutTestCase(base.TestCase):
    def test_part_that_is_not_set_is_that_of_the_base(self) -> None:
        for said, expected in (
            ({}, (4 * MIB, 64 * KIB, 8)),
            ({keys.OBJECT_SIZE: 8 * MIB}, (8 * MIB, 64 * KIB, 8)),
            ({keys.STRIPING: layout.Striping(4096, 2)}, (4 * MIB, 4096, 2)),
            (
                {
                    keys.OBJECT_SIZE: 4096,
                    keys.STRIPING: layout.Striping(512, 3),
                },
                (4096, 512, 3),
            ),
            (
                {keys.STRIPING: layout.Striping(4 * MIB, 1)},
                (4 * MIB, 4 * MIB, 1),
            ),
        ):
            resolved = options.resolve([_level(Origin.VOLUME_TYPE, said)])
            self.assertEqual(
                layout.ImageLayout.from_numbers(*expected),
                resolved.layout_over(layout.ImageLayout(4 * MIB, _STRIPING)),
            )

    def test_error_names_striping_first_and_the_object_map_first(self) -> None:
        size = option_values.level(Origin.VOLUME_METADATA, object_size=4096)
        striping = option_values.level(Origin.BACKEND, striping=_STRIPING)
        wanted = option_values.level(Origin.VOLUME_METADATA, object_map=True)
        listed = option_values.level(
            Origin.VOLUME_TYPE, image_features=frozenset({'layering'})
        )
        for levels, of_layout, of_features in (
            ([], None, None),
            ([size, listed], Origin.VOLUME_METADATA, Origin.VOLUME_TYPE),
            (
                [size, striping, listed, wanted],
                Origin.BACKEND,
                Origin.VOLUME_METADATA,
            ),
        ):
            resolved = options.resolve(levels)
            self.assertEqual(of_layout, resolved.layout_origin)
            self.assertEqual(of_features, resolved.features_origin)
