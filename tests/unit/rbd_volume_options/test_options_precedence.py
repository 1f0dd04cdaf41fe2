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

_WITH_MAP = frozenset(
    {'layering', 'exclusive-lock', 'object-map', 'fast-diff'}
)

# A value of each key for each level; different values if possible.
_SAID: dict[str, Callable[[Origin], object]] = {
    'object_size': lambda origin: 4096 << origin,
    'striping': lambda origin: layout.Striping(4096, int(origin)),
    'object_map': lambda origin: origin % 2 == 0,
    'image_features': lambda origin: frozenset({'layering', f'{origin}'}),
    'data_pool': lambda origin: f'pool-{int(origin)}',
}

# These always define the striping; see StripingTestCase.
_IMAGES = (Origin.SOURCE_VOLUME, Origin.GLANCE_IMAGE)


def _level(origin: Origin, **said: Any) -> options.Values:
    if origin in _IMAGES:
        # An image that is not striped says so.
        said.setdefault('striping', None)
    return option_values.level(origin, **said)


def _subsets() -> Iterable[tuple[Origin, ...]]:
    for length in range(len(Origin) + 1):
        yield from itertools.combinations(Origin, length)


@ddt.ddt
class EachKeyTestCase(base.TestCase):
    """The highest level that sets a key takes precedence."""

    @ddt.data(*_SAID)
    def test_highest_that_says_something(self, key: str) -> None:
        draw = random.Random(6)
        for speakers in _subsets():
            silent = set(Origin) - set(speakers)
            if key == 'striping':
                silent -= set(_IMAGES)
            levels = [_level(o, **{key: _SAID[key](o)}) for o in speakers]
            levels += [_level(o) for o in silent]
            # The order of the levels in the list has no effect.
            draw.shuffle(levels)
            expected = None
            if speakers:
                first = min(speakers)
                expected = Choice(_SAID[key](first), first)
            self.assertEqual(
                expected,
                options.resolve(levels).choice(option_values.KEYS[key]),
                f'{speakers}',
            )

    @ddt.data(*_SAID)
    def test_says_nothing_about_the_other_keys(self, key: str) -> None:
        origin = Origin.VOLUME_METADATA
        value = _SAID[key](origin)
        resolved = options.resolve([_level(origin, **{key: value})])
        self.assertEqual({option_values.KEYS[key]: value}, resolved)

    def test_plain_option_of_highest_level_takes_precedence(self) -> None:
        for speakers in _subsets():
            modes = {origin: list(CacheMode)[origin % 5] for origin in Origin}
            levels = [
                _level(each, plain={keys.CACHE_MODE: modes[each]})
                for each in reversed(speakers)
            ]
            expected = {}
            if speakers:
                first = min(speakers)
                expected = {keys.CACHE_MODE: Choice(modes[first], first)}
            resolved = options.resolve(levels)
            self.assertEqual(
                expected,
                {
                    k: resolved.choice(k)
                    for k in resolved
                    if k == keys.CACHE_MODE
                },
            )

    def test_nothing_said(self) -> None:
        self.assertEqual(options.Values(), options.resolve([]))
        self.assertEqual(
            options.Values(),
            options.resolve([_level(o) for o in Origin if o not in _IMAGES]),
        )

    def test_key_by_key(self) -> None:
        resolved = options.resolve(
            [
                _level(Origin.VOLUME_METADATA, object_size=8 * MIB),
                _level(
                    Origin.VOLUME_TYPE,
                    plain={keys.CACHE_MODE: CacheMode.WRITEBACK},
                ),
                _level(
                    Origin.BACKEND,
                    object_size=4 * MIB,
                    striping=layout.Striping(64 * KIB, 8),
                    object_map=True,
                ),
                _level(Origin.CLUSTER, data_pool='data', object_map=False),
            ]
        )
        self.assertEqual(
            {
                keys.OBJECT_SIZE: Choice(8 * MIB, Origin.VOLUME_METADATA),
                keys.STRIPING: Choice(
                    layout.Striping(64 * KIB, 8), Origin.BACKEND
                ),
                keys.OBJECT_MAP: Choice(True, Origin.BACKEND),
                keys.CACHE_MODE: Choice(
                    CacheMode.WRITEBACK, Origin.VOLUME_TYPE
                ),
                keys.DATA_POOL: Choice('data', Origin.CLUSTER),
            },
            {key: resolved.choice(key) for key in resolved},
        )

    def test_false_and_the_mode_none_say_something(self) -> None:
        resolved = options.resolve(
            [
                _level(
                    Origin.VOLUME_METADATA,
                    object_map=False,
                    plain={keys.CACHE_MODE: CacheMode.NONE},
                ),
                _level(
                    Origin.VOLUME_TYPE,
                    object_map=True,
                    plain={keys.CACHE_MODE: CacheMode.WRITEBACK},
                ),
            ]
        )
        self.assertEqual(
            Choice(False, Origin.VOLUME_METADATA),
            resolved.choice(keys.OBJECT_MAP),
        )
        self.assertEqual(
            Choice(CacheMode.NONE, Origin.VOLUME_METADATA),
            resolved.choice(keys.CACHE_MODE),
        )


@ddt.ddt
class StripingTestCase(base.TestCase):
    """Stripe unit and stripe count always come from the same level."""

    def test_never_mixed_from_two_levels(self) -> None:
        resolved = options.resolve(
            [
                _level(
                    Origin.VOLUME_TYPE, striping=layout.Striping(64 * KIB, 8)
                ),
                _level(Origin.BACKEND, striping=layout.Striping(4 * KIB, 128)),
            ]
        )
        self.assertEqual(
            Choice(layout.Striping(64 * KIB, 8), Origin.VOLUME_TYPE),
            resolved.choice(keys.STRIPING),
        )

    @ddt.data(*_IMAGES)
    def test_an_image_without_striping_says_so(self, image: Origin) -> None:
        below = _level(Origin.CLUSTER, striping=layout.Striping(64 * KIB, 8))
        resolved = options.resolve([below, _level(image)])
        self.assertEqual(Choice(None, image), resolved.choice(keys.STRIPING))
        self.assertEqual(
            layout.ImageLayout(4 * MIB),
            resolved.layout_over(
                layout.ImageLayout(4 * MIB, layout.Striping(4096, 2))
            ),
        )

    @ddt.data(Origin.VOLUME_METADATA, Origin.VOLUME_TYPE)
    def test_what_is_asked_beats_an_image(self, origin: Origin) -> None:
        striping = layout.Striping(64 * KIB, 8)
        self.assertEqual(
            Choice(striping, origin),
            options.resolve(
                [
                    _level(Origin.SOURCE_VOLUME),
                    _level(origin, striping=striping),
                ]
            ).choice(keys.STRIPING),
        )

    def test_the_backend_stands_between_the_two_kinds_of_image(self) -> None:
        backend = _level(Origin.BACKEND, striping=layout.Striping(4096, 2))
        for image, first in zip(
            _IMAGES, (Origin.SOURCE_VOLUME, Origin.BACKEND), strict=True
        ):
            choice = options.resolve([backend, _level(image)]).choice(
                keys.STRIPING
            )
            self.assertEqual(first, choice and choice.origin)


@ddt.ddt
class FeaturesTestCase(base.TestCase):
    """A list of features also decides about the object map."""

    def test_above_below_or_beside_a_list(self) -> None:
        listed = frozenset({'layering', 'exclusive-lock'})
        for at, of_map in itertools.product(Origin, Origin):
            levels = [_level(of_map, object_map=True)]
            if at is of_map:
                levels = [_level(at, object_map=True, image_features=listed)]
            else:
                levels.append(_level(at, image_features=listed))
            resolved = options.resolve(levels)
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
                resolved.features_over(frozenset()),
            )

    def test_a_list_between_two_says_of_the_map(self) -> None:
        resolved = options.resolve(
            [
                _level(Origin.VOLUME_METADATA, object_map=False),
                _level(
                    Origin.VOLUME_TYPE,
                    image_features=_WITH_MAP,
                ),
                _level(Origin.BACKEND, object_map=True),
            ]
        )
        self.assertEqual(
            Choice(False, Origin.VOLUME_METADATA),
            resolved.choice(keys.OBJECT_MAP),
        )
        self.assertEqual(
            {'layering', 'exclusive-lock'},
            resolved.features_over(frozenset({'journaling'})),
        )

    @ddt.named_data(
        ['nothing', None, {'layering', 'journaling', 'exclusive-lock'}],
        [
            'map',
            True,
            {*_WITH_MAP, 'journaling'},
        ],
        ['no_map', False, {'layering', 'journaling', 'exclusive-lock'}],
    )
    def test_over_a_base(
        self, object_map: bool | None, expected: set[str]
    ) -> None:
        resolved = options.resolve(
            [_level(Origin.VOLUME_TYPE, object_map=object_map)]
        )
        self.assertEqual(
            expected,
            resolved.features_over(
                frozenset({'layering', 'journaling', 'exclusive-lock'})
            ),
        )


@ddt.ddt
class LayoutOverTestCase(base.TestCase):
    @ddt.named_data(
        ['nothing', {}, 4 * MIB, 64 * KIB, 8],
        ['object_size', {'object_size': 8 * MIB}, 8 * MIB, 64 * KIB, 8],
        [
            'striping',
            {'striping': layout.Striping(4096, 2)},
            4 * MIB,
            4096,
            2,
        ],
        [
            'both',
            {'object_size': 4096, 'striping': layout.Striping(512, 3)},
            4096,
            512,
            3,
        ],
        [
            'striping_that_is_none',
            {'striping': layout.Striping(4 * MIB, 1)},
            4 * MIB,
            4 * MIB,
            1,
        ],
    )
    def test_layout_over_a_striped_base(
        self, said: dict[str, Any], object_size: int, unit: int, count: int
    ) -> None:
        resolved = options.resolve([_level(Origin.VOLUME_TYPE, **said)])
        self.assertEqual(
            layout.ImageLayout.from_numbers(object_size, unit, count),
            resolved.layout_over(
                layout.ImageLayout(4 * MIB, layout.Striping(64 * KIB, 8))
            ),
        )


class NamedChoiceTestCase(base.TestCase):
    """Tests for the choice that an error names."""

    def test_striping_before_object_size(self) -> None:
        size = _level(Origin.VOLUME_METADATA, object_size=4096)
        striping = _level(
            Origin.BACKEND, striping=layout.Striping(64 * KIB, 8)
        )
        for levels, origin in (
            ([], None),
            ([size], Origin.VOLUME_METADATA),
            ([striping], Origin.BACKEND),
            ([size, striping], Origin.BACKEND),
        ):
            choice = options.resolve(levels).layout_origin
            self.assertEqual(origin, choice)

    def test_object_map_before_features(self) -> None:
        wanted = _level(Origin.VOLUME_METADATA, object_map=True)
        listed = _level(
            Origin.VOLUME_TYPE, image_features=frozenset({'layering'})
        )
        for levels, origin in (
            ([], None),
            ([wanted], Origin.VOLUME_METADATA),
            ([listed], Origin.VOLUME_TYPE),
            ([listed, wanted], Origin.VOLUME_METADATA),
        ):
            choice = options.resolve(levels).features_origin
            self.assertEqual(origin, choice)
