# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import ownership
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import use
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import selection
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

_Action = decisions.Action
_INVALID = images.MapState.INVALID
_PLAIN = frozenset({features.LAYERING})
_LOCKED = _PLAIN | {features.EXCLUSIVE_LOCK}
_NO_MAP: dict[str, Any] = {
    'image_features': _PLAIN,
    'map_state': images.MapState.NONE,
}


def _target(
    volume: dict[str, Any] | None = None, **values: Any
) -> selection.Target:
    record = None if volume is None else facts.volume(**volume)
    return selection.Target(facts.image(**values), record)


@ddt.ddt
class PlanTest(base.TestCase):
    @ddt.data(
        (_Action.ENABLE, {}, ''),
        (
            _Action.ENABLE,
            _NO_MAP,
            'enable exclusive-lock; enable fast-diff,object-map; rebuild maps',
        ),
        (
            _Action.ENABLE,
            {**_NO_MAP, 'image_features': _LOCKED},
            'enable fast-diff,object-map; rebuild maps',
        ),
        (_Action.ENABLE, {'map_state': _INVALID}, 'rebuild maps'),
        (_Action.REBUILD, {'map_state': _INVALID}, 'rebuild maps'),
        (_Action.REBUILD, {}, ''),
        (_Action.DISABLE, {}, 'disable fast-diff,object-map'),
        (_Action.DISABLE, _NO_MAP, ''),
    )
    @ddt.unpack
    def test_plan_lists_missing_steps_only(
        self, action: _Action, values: dict[str, Any], expected: str
    ) -> None:
        steps = decisions.plan(action, _target(**values))
        self.assertEqual(expected, steps.describe(action))
        self.assertIs(bool(expected), bool(steps))

    def test_snapshot_with_an_invalid_map(self) -> None:
        snapshot = facts.snapshot('one', map_state=_INVALID)
        steps = decisions.plan(_Action.REBUILD, _target(snapshots=(snapshot,)))
        self.assertTrue(steps.rebuild)


@ddt.ddt
class ObstacleTest(base.TestCase):
    def obstacle(
        self,
        action: _Action,
        target: selection.Target,
        specs: dict[str, str] | None = None,
    ) -> Any:
        obstacle = decisions.obstacle(action, target, {'type': specs or {}})
        return obstacle and obstacle[0]

    @ddt.data(*_Action)
    def test_healthy_image_has_no_obstacle(self, action: _Action) -> None:
        self.assertIsNone(self.obstacle(action, _target({})))
        self.assertIsNone(self.obstacle(action, _target()))

    @ddt.data(
        (_Action.ENABLE, {'multiattach': True}, decisions.MULTIATTACH),
        (_Action.REBUILD, {'multiattach': True}, decisions.MULTIATTACH),
        (_Action.DISABLE, {'multiattach': True}, None),
        (_Action.ENABLE, {'status': 'deleting'}, decisions.BUSY),
        (_Action.ENABLE, {'migrating': True}, decisions.BUSY),
        (
            _Action.ENABLE,
            {'metadata': {'rbd:object_map': 'false'}},
            decisions.NOT_WANTED,
        ),
        (
            _Action.DISABLE,
            {'metadata': {'rbd:object_map': 'true'}},
            decisions.NOT_WANTED,
        ),
        (_Action.ENABLE, {'metadata': {'rbd:object_map': 'true'}}, None),
        (
            _Action.ENABLE,
            {'metadata': {'rbd:object_map': 'perhaps'}},
            decisions.NOT_WANTED,
        ),
        (_Action.REBUILD, {'metadata': {'rbd:object_map': 'false'}}, None),
        (_Action.ENABLE, {'metadata': {'colour': 'blue'}}, None),
    )
    @ddt.unpack
    def test_state_of_volume_is_an_obstacle(
        self, action: _Action, volume: dict[str, Any], expected: Any
    ) -> None:
        self.assertIs(expected, self.obstacle(action, _target(volume)))

    @ddt.data(
        ({}, {}, None),
        ({}, {'owner': 'ours'}, None),
        # It was managed again.
        ({}, {'owner': ownership.RELEASED}, None),
        ({}, {'owner': 'another'}, outcomes.FOREIGN),
        ({'pool': 'host@two#two'}, {}, decisions.OTHER_POOL),
        ({'pool': 'host@lvm#lvm'}, {}, decisions.OTHER_POOL),
        ({'pool': 'host@down#down'}, {}, decisions.POOL_UNKNOWN),
        # The ID of the cloud may be unknown, too.
        (
            {'pool': 'host@down#down'},
            {'owner': 'another'},
            decisions.POOL_UNKNOWN,
        ),
        (None, {'name': facts.OTHER}, decisions.OTHER_POOL),
        # A project has chosen its ID, and has not uploaded it.
        (None, {'name': facts.IDENT}, decisions.OTHER_POOL),
        (None, {'name': f'{facts.OTHER}_disk'}, None),
        (None, {'name': f'{facts.IDENT}_disk'}, decisions.OTHER_POOL),
        (
            None,
            {'name': f'{facts.OTHER}_disk', 'owner': 'another'},
            outcomes.FOREIGN,
        ),
    )
    @ddt.unpack
    def test_image_of_another_pool_or_cloud_is_an_obstacle(
        self,
        volume: dict[str, Any] | None,
        values: dict[str, Any],
        reason: outcomes.Reason | None,
    ) -> None:
        known = facts.known(
            cloud_id='ours',
            backends={facts.CINDER_POOL: 'volumes', 'host@two#two': 'two'},
            elsewhere=frozenset({'host@lvm#lvm'}),
            located={facts.OTHER: frozenset({'images'})},
        )
        target = _target(volume, **values)
        copies = frozenset({f'{facts.IDENT}_disk'})
        obstacle = decisions.obstacle_of_owner(target, known, copies)
        self.assertIs(reason, obstacle and obstacle[0])

    def test_glance_may_show_no_location(self) -> None:
        target = _target(name=facts.IDENT)
        self.assertIsNone(decisions.obstacle_of_owner(target, facts.known()))

    def test_type_may_forbid_the_map(self) -> None:
        specs = {'rbd:features': 'layering', 'multiattach': '<is> True'}
        rule = self.obstacle(_Action.ENABLE, _target({}), specs)
        self.assertIs(decisions.NOT_WANTED, rule)
        # The metadata of the volume overrides the type.
        volume = {'metadata': {'rbd:object_map': 'true'}}
        rule = self.obstacle(_Action.ENABLE, _target(volume), specs)
        self.assertIsNone(rule)

    def test_origin_of_keys(self) -> None:
        target = _target({'metadata': {'rbd:object_map': 'false'}})
        obstacle = decisions.obstacle(_Action.ENABLE, target, {})
        self.assertEqual(
            (decisions.NOT_WANTED, 'set in volume metadata'), obstacle
        )

    def test_state_of_image_is_an_obstacle(self) -> None:
        migrating = _target(migrating=True)
        self.assertIs(
            decisions.BUSY, self.obstacle(_Action.REBUILD, migrating)
        )
        large = _target(
            size=2**41, image_layout=layout.ImageLayout(2**12), **_NO_MAP
        )
        self.assertIs(
            decisions.TOO_LARGE, self.obstacle(_Action.ENABLE, large)
        )
        without = _target(**_NO_MAP)
        self.assertIs(
            decisions.NO_MAP, self.obstacle(_Action.REBUILD, without)
        )

    @ddt.data(
        (_Action.ENABLE, _NO_MAP, decisions.RECORDED),
        (_Action.ENABLE, {}, None),
        (_Action.DISABLE, {}, decisions.RECORDED),
        (_Action.REBUILD, {'map_state': _INVALID}, None),
    )
    @ddt.unpack
    def test_recorded_features_are_changed_by_cinder(
        self, action: _Action, values: dict[str, Any], expected: Any
    ) -> None:
        made = {definitions.ATTRIBUTE_FEATURES: ['layering']}
        target = _target({'made': made}, **values)
        self.assertIs(expected, self.obstacle(action, target))

    @ddt.data(
        (_PLAIN, use.Use(), None),
        (_PLAIN, use.Use(('a',)), decisions.IN_USE_UNLOCKED),
        (_LOCKED, use.Use(('a',)), decisions.IN_USE_FREE),
        (_LOCKED, use.Use(('a',), 'a', True), None),
        (_LOCKED, use.Use(('a',), 'b', False), decisions.OWNER_GONE),
        (_LOCKED, use.Use((), 'b', False), decisions.OWNER_GONE),
        (_LOCKED, use.Use((), 'b', is_manual=True), decisions.LOCKED),
    )
    @ddt.unpack
    def test_open_image_without_lock_is_an_obstacle(
        self, enabled: features.Features, usage: use.Use, expected: Any
    ) -> None:
        obstacle = decisions.obstacle_in_use(enabled, usage)
        self.assertIs(expected, obstacle and obstacle[0])
