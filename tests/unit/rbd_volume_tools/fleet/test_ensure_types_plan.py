# SPDX-License-Identifier: Apache-2.0

from typing import Any

from rbd_volume_tools.fleet import ensure_types
from tests.unit import base


def _pool(name: str | None, **report: Any) -> Any:
    report.setdefault('rbd_volume_options', True)
    return {'capabilities': {'volume_backend_name': name, **report}}


def _type(name: str, **specs: str) -> Any:
    return {'name': name, 'extra_specs': specs}


class PlanTest(base.TestCase):
    """Tests for which volume types are created and which are kept."""

    def _actions(self, pools: Any, types: Any) -> Any:
        return {
            each.backend: (each.volume_type, each.action)
            for each in ensure_types.plan(pools, types)
        }

    def test_plan_has_one_type_per_backend(self) -> None:
        pools = [
            _pool('one'),
            _pool('one'),
            _pool('two'),
            _pool('three'),
            _pool('lvm', rbd_volume_options=False),
            _pool(None),
        ]
        types = [
            _type('fast', volume_backend_name='two'),
            _type('zwei', volume_backend_name='two'),
            _type('three', volume_backend_name='lvm'),
        ]
        self.assertEqual(
            {
                'one': ('one', 'make'),
                'two': ('fast', 'there'),
                'three': ('three', 'name is taken'),
                'lvm': ('three', 'there'),
            },
            self._actions(pools, types),
        )

    def test_back_end_of_another_driver_gets_its_name_only(self) -> None:
        pools = [_pool('lvm', rbd_volume_options=False)]
        (made,) = ensure_types.plan(pools, [])
        self.assertEqual(ensure_types.MAKE, made.action)
        self.assertEqual({'volume_backend_name': 'lvm'}, made.specs)

    def test_the_one_with_the_name_is_shown(self) -> None:
        types = [
            _type(name, volume_backend_name='one') for name in ('a', 'one')
        ]
        for order in (types, types[::-1]):
            self.assertEqual(
                {'one': ('one', 'there')}, self._actions([_pool('one')], order)
            )

    def test_planned_type_enables_object_map(self) -> None:
        (made,) = ensure_types.plan([_pool('one')], [])
        wanted = {'volume_backend_name': 'one', 'rbd:object_map': 'true'}
        self.assertEqual(wanted, made.specs)
        for said in (
            {'rbd_volume_object_map': False},
            {'rbd_volume_features': 'layering'},
        ):
            (made,) = ensure_types.plan([_pool('one', **said)], [])
            self.assertEqual({'volume_backend_name': 'one'}, made.specs)


class PlanNamedTest(base.TestCase):
    """Tests for a single type with the operator's keys."""

    def test_back_end_that_is_ambiguous(self) -> None:
        self.assertRaisesRegex(
            ValueError,
            'allowed: one, two',
            ensure_types.plan_named,
            [_pool('one'), _pool('two')],
            [],
            'new',
            {},
        )
