# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any
from unittest import mock

import ddt

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import wire
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import recorded
from rbd_volume_tools.fleet import selection
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import stubs

_PLAIN = frozenset({features.LAYERING})
_Action = decisions.Action
_NOT_WANTED = decisions.NOT_WANTED


def _target(**volume: Any) -> selection.Target:
    image = facts.image(image_features=_PLAIN, map_state=images.MapState.NONE)
    return selection.Target(image, facts.volume(**volume))


@ddt.ddt
class ObjectMapsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image = stubs.Image(_PLAIN)
        self.record = mock.create_autospec(recorded.correct)
        self.now: records.Volume | None = facts.volume()

    def planned(
        self, action: _Action, *targets: selection.Target
    ) -> list[Any]:
        cluster: Any = self.image
        return list(
            map_changes.planned(
                *(action, targets, facts.known(), cluster),
                *(lambda ident: self.now, self.record),
            )
        )

    def test_enable_adds_features_and_rebuilds_maps(self) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.assertEqual(outcomes.Status.PLANNED, change.outcome.status)
        self.assertEqual(facts.IDENT, change.outcome.volume)
        self.assertEqual(
            'enabled exclusive-lock; enabled fast-diff,object-map; '
            'rebuilt 2 maps',
            change.apply(None, None, frozenset()),
        )
        self.assertEqual(
            [
                'enable exclusive-lock',
                'enable fast-diff,object-map',
                'rebuild None',
                'rebuild 7',
            ],
            self.image.calls,
        )
        self.record.assert_not_called()

    def test_disk_that_several_pools_have_is_refused(self) -> None:
        """Nova does not tell which of them is a copy."""
        disk = facts.image(f'{facts.OTHER}_disk')
        copy = dataclasses.replace(disk, pool='copies')
        other = facts.image(f'{facts.IDENT}_disk')
        results = self.planned(
            _Action.DISABLE, *map(selection.Target, (disk, copy, other))
        )
        self.assertEqual(
            ['other-pool', 'other-pool', ''],
            [getattr(each, 'outcome', each).code for each in results],
        )

    def test_disable_removes_features(self) -> None:
        self.image.there = facts.MAPPED
        target = selection.Target(facts.image())
        (change,) = self.planned(_Action.DISABLE, target)
        self.assertEqual(
            'disabled fast-diff,object-map',
            change.apply(None, None, frozenset()),
        )

    def test_record_is_corrected_after_change(self) -> None:
        target = _target(made={wire.ATTRIBUTE_FEATURES: ['layering']})
        (change,) = self.planned(_Action.ENABLE, target)
        self.assertIn(
            'corrected the record', change.apply(None, None, frozenset())
        )
        self.record.assert_called_once_with(
            facts.IDENT, _PLAIN | features.MAP_ON
        )

    def test_nothing_to_do_and_refused(self) -> None:
        valid = selection.Target(facts.image())
        unchanged, refused = self.planned(
            _Action.ENABLE, valid, _target(multiattach=True)
        )
        self.assertIs(outcomes.Status.UNCHANGED, unchanged.outcome.status)
        self.image.there = facts.MAPPED
        ours = frozenset({'client.40'})
        self.assertEqual('', unchanged.apply(None, None, ours))
        self.assertEqual([], self.image.calls)
        self.assertIs(outcomes.Status.REFUSED, refused.status)
        self.assertEqual('multiattach', refused.code)

    def test_image_of_another_owner_is_refused(self) -> None:
        target = selection.Target(facts.image(owner='another cloud'))
        for action in _Action:
            (refused,) = self.planned(action, target)
            self.assertIs(outcomes.Status.REFUSED, refused.status)
            self.assertEqual('image-of-another-cloud', refused.code)

    def test_resumed_run_also_releases_the_lock_of_the_killed_one(
        self,
    ) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.image.there = facts.MAPPED
        self.image.lockers = {
            'tag': 'internal',
            'lockers': [('client.40', 'auto 99', '10.0.0.1:0/6')],
        }
        self.assertIn(
            'released the lock',
            change.apply(None, None, frozenset({'client.40'})),
        )
        self.assertEqual(['acquire', 'release'], self.image.calls)

    def test_record_that_the_database_does_not_take_fails_one_image(
        self,
    ) -> None:
        self.record.side_effect = RuntimeError('gone away')
        made = {wire.ATTRIBUTE_FEATURES: ['layering']}
        (change,) = self.planned(_Action.ENABLE, _target(made=made))
        error = self.assertRaises(
            outcomes.NotAnswered, change.apply, None, None, frozenset()
        )
        self.assertIn('gone away', str(error))

    def test_record_that_is_not_in_the_database_is_not_corrected(self) -> None:
        self.record.return_value = False
        made = {wire.ATTRIBUTE_FEATURES: ['layering']}
        (change,) = self.planned(_Action.ENABLE, _target(made=made))
        error = self.assertRaises(
            outcomes.NotVerified, change.apply, None, None, frozenset()
        )
        self.assertIn('cinder.conf of this cloud', str(error))

    def test_record_in_a_copy_of_the_database_is_not_that_of_cinder(
        self,
    ) -> None:
        """The cinder.conf may be that of a test system with a dump."""
        made = {wire.ATTRIBUTE_FEATURES: ['layering']}
        self.now = facts.volume(made=made)
        (change,) = self.planned(_Action.ENABLE, _target(made=made))
        error = self.assertRaises(
            outcomes.NotVerified, change.apply, None, None, frozenset()
        )
        self.record.assert_called_once()
        self.assertIn('cinder.conf of this cloud', str(error))

    @ddt.data(
        (None, decisions.REPLACED),
        (facts.volume(image_id=facts.OTHER), decisions.REPLACED),
        (facts.volume(pool='host@two#two'), decisions.REPLACED),
        (facts.volume(multiattach=True), decisions.MULTIATTACH),
        (facts.volume(status='retyping'), decisions.BUSY),
        (facts.volume(metadata={keys.OBJECT_MAP: 'false'}), _NOT_WANTED),
    )
    @ddt.unpack
    def test_volume_that_has_changed_since_the_plan_is_refused(
        self, now: records.Volume | None, reason: outcomes.Reason
    ) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.now = now
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, None, frozenset()
        )
        self.assertIs(reason, error.reason)
        self.assertEqual([], self.image.calls)

    def test_other_image_with_the_name_is_refused(self) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.image.ident = 'def'
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, None, frozenset()
        )
        self.assertIs(decisions.REPLACED, error.reason)
        self.assertEqual([], self.image.calls)

    def test_size_counts_maps_of_snapshots(self) -> None:
        image = facts.image(
            snapshots=(facts.snapshot('one'), facts.snapshot('two')),
            map_state=images.MapState.INVALID,
        )
        (change,) = self.planned(_Action.REBUILD, selection.Target(image))
        self.assertEqual(3 * 2**30, change.size)

    def test_checked_images_tell_state_of_maps(self) -> None:
        snapshot = facts.snapshot('one', map_state=images.MapState.INVALID)
        checked = map_changes.checked(
            [
                selection.Target(facts.image()),
                selection.Target(facts.image(snapshots=(snapshot,))),
                _target(),
            ]
        )
        self.assertEqual(
            [
                '1 valid maps',
                'a map is invalid: one: invalid',
                'the image has no object map',
            ],
            [each.detail for each in checked],
        )

    def test_unreadable_image_has_failed(self) -> None:
        outcome = map_changes.unreadable('volumes', 'image', 'no header')
        self.assertEqual(outcomes.Status.FAILED, outcome.status)
