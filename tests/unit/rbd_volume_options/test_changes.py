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
    frozenset(
        {
            'layering',
            'exclusive-lock',
            'object-map',
            'fast-diff',
            'deep-flatten',
            'striping',
        }
    ),
)
_MAP = frozenset({'object-map', 'fast-diff'})
_MULTIATTACH = {'multiattach': '<is> True'}


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
_IN_PLACE: dict[
    str,
    tuple[
        options.Values,
        dict[str, str],
        dict[str, str],
        frozenset[str],
        frozenset[str],
    ],
] = {
    'nothing_asked': (_STRIPED, {}, {}, frozenset(), frozenset()),
    'what_is_there': (
        _STRIPED,
        {'rbd:object_size': '1M'},
        {
            'rbd_stripe_unit': '64K',
            'rbd_stripe_count': '8',
            'rbd_object_map': 'true',
        },
        frozenset(),
        frozenset(),
    ),
    'no_striping_in_words': (
        _PLAIN,
        {},
        {'rbd_stripe_unit': '4M', 'rbd_stripe_count': '1'},
        frozenset(),
        frozenset(),
    ),
    'map': (_PLAIN, {}, {'rbd_object_map': 'true'}, _MAP, frozenset()),
    'no_map': (_STRIPED, {}, {'rbd_object_map': 'false'}, frozenset(), _MAP),
    'metadata_over_type': (
        _STRIPED,
        {'rbd:object_map': 'false'},
        {'rbd_object_map': 'true'},
        frozenset(),
        _MAP,
    ),
    'whole_set': (
        _STRIPED,
        {},
        {'rbd_features': 'layering,exclusive-lock,journaling'},
        frozenset({'journaling'}),
        _MAP | {'deep-flatten'},
    ),
    'multiattach': (
        _STRIPED,
        {},
        {**_MULTIATTACH, 'rbd_features': 'layering'},
        frozenset(),
        frozenset(),
    ),
}

#: Image state, extra specs, the conflicting key, its actual value.
_OBSTACLES: dict[str, tuple[options.Values, dict[str, str], str, str]] = {
    'object_size': (
        _PLAIN,
        {'rbd_object_size': '8M'},
        'rbd:object_size',
        '4194304',
    ),
    'striping': (
        _STRIPED,
        {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '4'},
        'rbd:stripe_unit',
        '65536 with rbd:stripe_count = 8',
    ),
    'striping_of_plain': (
        _PLAIN,
        {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '4'},
        'rbd:stripe_unit',
        '4194304 with rbd:stripe_count = 1',
    ),
    'data_pool': (_PLAIN, {'rbd_data_pool': 'data'}, 'rbd:data_pool', 'none'),
    'features': (
        _PLAIN,
        {'rbd_features': 'layering,deep-flatten'},
        'rbd:features',
        'exclusive-lock,layering',
    ),
}


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
            metadata or {},
            {},
            request.specs_of(cinder_objects.volume_type(**specs)),
            cinder_objects.settings(**settings),
            size,
            layout_requested=False,
        ).make_plan(state)

    @ddt.data(*_IN_PLACE)
    def test_changed_features(self, case: str) -> None:
        state, metadata, specs, enable, disable = _IN_PLACE[case]
        decided = self._plan(state, specs, metadata)
        self.assertIsNone(decided.obstacle)
        self.assertEqual((enable, disable), (decided.enable, decided.disable))

    @ddt.data(*_OBSTACLES)
    def test_obstacle_excludes_changes(self, case: str) -> None:
        state, specs, key, allowed = _OBSTACLES[case]
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

    def test_multiattach_is_no_way_around_a_layout(self) -> None:
        specs = {**_MULTIATTACH, 'rbd_object_size': '8M'}
        obstacle = self._plan(_PLAIN, specs).obstacle
        assert_error(self, obstacle, 'rbd:object_size', '4194304')

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

    @ddt.data(*_OBSTACLES)
    def test_what_can_not_be_changed(self, case: str) -> None:
        state, specs, key, allowed = _OBSTACLES[case]
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
