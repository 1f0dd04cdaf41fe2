# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options import retype_plan
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20

_PLAIN = options.image_values(
    layout.ImageLayout(4 * _MIB), frozenset({'layering', 'exclusive-lock'})
)
_STRIPED = options.image_values(
    layout.ImageLayout(_MIB, layout.Striping(64 << 10, 8)),
    frozenset(['layering', 'exclusive-lock', 'deep-flatten', 'striping'])
    | {'object-map', 'fast-diff'},
)
_MAP = frozenset({'object-map', 'fast-diff'})
_MULTIATTACH = {'multiattach': '<is> True'}
_PAIR = {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '8'}
_FOUR = {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '4'}
_NOTHING = frozenset[str]()


def _contradiction(
    metadata: dict[str, str],
    specs: dict[str, str],
    state: options.Values,
    **settings: str,
) -> errors.OptionError | None:
    requested = request.read_request(
        metadata,
        request.specs_of(cinder_objects.volume_type(**specs)),
        cinder_objects.settings(**settings),
    )
    return changes.contradiction(requested.resolve(backend_too=False), state)


#: Image state, metadata, extra specs, features to enable and to disable.
_IN_PLACE: tuple[
    tuple[
        options.Values,
        dict[str, str],
        dict[str, str],
        frozenset[str],
        frozenset[str],
    ],
    ...,
] = (
    (_STRIPED, {}, {}, _NOTHING, _NOTHING),
    # What is there.
    (
        *(_STRIPED, {'rbd:object_size': '1M'}),
        *({**_PAIR, 'rbd_object_map': 'true'}, _NOTHING, _NOTHING),
    ),
    (
        *(_PLAIN, {}, {'rbd_stripe_unit': '4M', 'rbd_stripe_count': '1'}),
        *(_NOTHING, _NOTHING),
    ),
    (_PLAIN, {}, {'rbd_object_map': 'true'}, _MAP, _NOTHING),
    (_STRIPED, {}, {'rbd_object_map': 'false'}, _NOTHING, _MAP),
    # The metadata overrides the type.
    (
        *(_STRIPED, {'rbd:object_map': 'false'}),
        *({'rbd_object_map': 'true'}, _NOTHING, _MAP),
    ),
    (
        *(
            _STRIPED,
            {},
            {'rbd_features': 'layering,exclusive-lock,journaling'},
        ),
        *(frozenset({'journaling'}), _MAP | {'deep-flatten'}),
    ),
    # The stock driver itself changes the features.
    (
        *(_STRIPED, {}, {**_MULTIATTACH, 'rbd_features': 'layering'}),
        *(_NOTHING, _NOTHING),
    ),
)

#: Image state, extra specs, the conflicting key, its actual value.
_OBSTACLES: tuple[tuple[options.Values, dict[str, str], str, str], ...] = (
    (_PLAIN, {'rbd_object_size': '8M'}, 'rbd:object_size', '4194304'),
    # Multi-attach is no way around it.
    (
        *(_PLAIN, {**_MULTIATTACH, 'rbd_object_size': '8M'}),
        *('rbd:object_size', '4194304'),
    ),
    (_STRIPED, _FOUR, 'rbd:stripe_count', '8'),
    (_PLAIN, _FOUR, 'rbd:stripe_unit', '4194304'),
    (_PLAIN, {'rbd_data_pool': 'data'}, 'rbd:data_pool', 'none'),
    (
        *(_PLAIN, {'rbd_features': 'layering,deep-flatten'}, 'rbd:features'),
        'exclusive-lock,layering',
    ),
)


@ddt.ddt
class InPlaceTest(base.TestCase):
    """What a retype changes in the image itself."""

    def _plan(
        self,
        state: options.Values,
        specs: dict[str, str],
        metadata: dict[str, str] | None = None,
        size: int = 1,
        **settings: str,
    ) -> retype_plan.RetypePlan:
        return retype_plan.Retype(
            cinder_objects.volume(metadata, size=size),
            request.specs_of(cinder_objects.volume_type(**specs)),
            cinder_objects.settings(**settings),
        ).make_plan(state)

    @ddt.data(*_IN_PLACE)
    @ddt.unpack
    def test_changed_features(
        self,
        state: options.Values,
        metadata: dict[str, str],
        specs: dict[str, str],
        enable: frozenset[str],
        disable: frozenset[str],
    ) -> None:
        decided = self._plan(state, specs, metadata)
        self.assertIsNone(decided.obstacle)
        self.assertEqual((enable, disable), (decided.enable, decided.disable))

    @ddt.data(*_OBSTACLES)
    @ddt.unpack
    def test_obstacle_excludes_changes(
        self,
        state: options.Values,
        specs: dict[str, str],
        key: str,
        allowed: str,
    ) -> None:
        decided = self._plan(state, specs)
        assert_error(self, decided.obstacle, key, allowed)
        self.assertFalse(decided.enable | decided.disable)

    def test_backend_is_not_asked(self) -> None:
        """The defaults of the back end apply only to new volumes."""
        decided = self._plan(
            _PLAIN,
            {},
            rbd_volume_object_size='8M',
            rbd_volume_object_map='true',
            rbd_volume_data_pool='data',
        )
        self.assertIsNone(decided.obstacle)
        self.assertFalse(decided.enable | decided.disable)

    def test_map_that_would_be_too_large(self) -> None:
        small = options.image_values(
            layout.ImageLayout(4096), frozenset({'layering', 'exclusive-lock'})
        )
        error = self._plan(
            small, {'rbd_object_map': 'true'}, size=2048
        ).obstacle
        self.assertEqual(
            ('rbd:object_map', errors.Origin.VOLUME_TYPE),
            (error.key, error.origin) if error else None,
        )


@ddt.ddt
class ContradictionTest(base.TestCase):
    """An image is managed unchanged, or refused."""

    @ddt.data(
        {},
        {'rbd_object_size': '4M'},
        {'rbd_object_map': 'false'},
        {'rbd_features': 'layering,exclusive-lock'},
        {**_MULTIATTACH, 'rbd_features': 'layering'},
    )
    def test_plain_image_contradicts_nothing(
        self, specs: dict[str, str]
    ) -> None:
        self.assertIsNone(_contradiction({}, specs, _PLAIN))

    def test_what_can_not_be_changed(self) -> None:
        for state, specs, key, allowed in _OBSTACLES:
            error = _contradiction({}, specs, state)
            assert_error(self, error, key, allowed)

    def test_what_could_be_changed(self) -> None:
        error = _contradiction({'rbd:object_map': 'true'}, {}, _PLAIN)
        assert_error(
            self, error, 'rbd:object_map', 'features exclusive-lock,layering'
        )
        self.assertEqual(
            ('true', errors.Origin.VOLUME_METADATA),
            (getattr(error, 'value', None), getattr(error, 'origin', None)),
        )

    def test_backend_is_not_asked(self) -> None:
        self.assertIsNone(
            _contradiction({}, {}, _PLAIN, rbd_volume_object_size='8M')
        )


def assert_error(
    case: base.TestCase, error: Any, key: str, allowed: str
) -> None:
    """Check the message of an obstacle."""
    case.assertIsInstance(error, errors.OptionError)
    case.assertEqual((key, allowed), (error.key, error.allowed))
    case.assertIn('fixed at creation', error.reason)
