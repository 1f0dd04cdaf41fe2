# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20
_GIB = 1 << 30
_TIB = 1 << 40

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


def _request(
    metadata: dict[str, str], specs: dict[str, str], **options: str
) -> request.Request:
    volume = cinder_objects.volume(metadata)
    return request.read_request(
        volume.metadata,
        request.specs_of(cinder_objects.volume_type(**specs)),
        cinder_objects.settings(**options),
    )


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
class NeededTest(base.TestCase):
    @ddt.data(*_IN_PLACE)
    def test_in_place(self, case: str) -> None:
        state, metadata, specs, enable, disable = _IN_PLACE[case]
        self.assertEqual(
            changes.Change(enable, disable),
            changes.needed(_request(metadata, specs), state, _GIB),
        )

    @ddt.data(*_OBSTACLES)
    def test_obstacle_excludes_changes(self, case: str) -> None:
        state, specs, key, allowed = _OBSTACLES[case]
        change = changes.needed(_request({}, specs), state, _GIB)
        assert_error(self, change.obstacle, key, allowed)
        self.assertEqual(changes.Change(obstacle=change.obstacle), change)

    def test_backend_is_not_asked(self) -> None:
        """The defaults of the back end apply only to new volumes."""
        self.assertEqual(
            changes.Change(),
            changes.needed(
                _request(
                    {},
                    {},
                    rbd_volume_object_size='8M',
                    rbd_volume_object_map='true',
                    rbd_volume_data_pool='data',
                ),
                _PLAIN,
                _GIB,
            ),
        )

    def test_multiattach_is_no_way_around_a_layout(self) -> None:
        change = changes.needed(
            _request({}, {**_MULTIATTACH, 'rbd_object_size': '8M'}),
            _PLAIN,
            _GIB,
        )
        assert_error(self, change.obstacle, 'rbd:object_size', '4194304')

    def test_map_that_would_be_too_large(self) -> None:
        small = options.image_values(
            layout.ImageLayout(4096), frozenset({'layering', 'exclusive-lock'})
        )
        error = self.assertRaises(
            errors.OptionError,
            changes.needed,
            _request({}, {'rbd_object_map': 'true'}),
            small,
            2 * _TIB,
        )
        self.assertEqual('rbd:object_map', error.key)
        self.assertEqual(errors.Origin.VOLUME_TYPE, error.origin)

    def test_what_can_not_be_asked(self) -> None:
        self.assertRaises(
            errors.OptionError,
            changes.needed,
            _request({'rbd:object_map': 'true'}, _MULTIATTACH),
            _PLAIN,
            _GIB,
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
        self.assertIsNone(changes.contradiction(_request({}, specs), _PLAIN))

    @ddt.data(*_OBSTACLES)
    def test_what_can_not_be_changed(self, case: str) -> None:
        state, specs, key, allowed = _OBSTACLES[case]
        error = changes.contradiction(_request({}, specs), state)
        assert_error(self, error, key, allowed)

    def test_what_could_be_changed(self) -> None:
        error = changes.contradiction(
            _request({'rbd:object_map': 'true'}, {}), _PLAIN
        )
        assert_error(
            self, error, 'rbd:object_map', 'features exclusive-lock,layering'
        )
        self.assertEqual(
            ('true', errors.Origin.VOLUME_METADATA),
            (getattr(error, 'value', None), getattr(error, 'origin', None)),
        )

    def test_backend_is_not_asked(self) -> None:
        self.assertIsNone(
            changes.contradiction(
                _request({}, {}, rbd_volume_object_size='8M'), _PLAIN
            )
        )


def assert_error(
    case: base.TestCase, error: Any, key: str, allowed: str
) -> None:
    """Check the message of an obstacle."""
    case.assertIsInstance(error, errors.OptionError)
    case.assertEqual((key, allowed), (error.key, error.allowed))
    case.assertIn('fixed at creation', error.reason)
