# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any
from unittest import mock

import ddt

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import selection
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import stubs

_PLAIN = frozenset({features.LAYERING})
_Action = decisions.Action
_NOT_WANTED = decisions.NOT_WANTED
_OURS = frozenset({'client.40'})


def _target(**volume: Any) -> selection.Target:
    image = facts.image(image_features=_PLAIN, map_state=images.MapState.NONE)
    return selection.Target(image, facts.volume(**volume))


@ddt.ddt
class ObjectMapsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image = stubs.Image(_PLAIN)
        self.now: records.Volume | None = facts.volume()
        self.known = facts.known(facts.volume())
        # What is read immediately before a change.
        self.read = mock.Mock(return_value=_target().image)
        self.image.read = self.read  # type: ignore[attr-defined]

    def planned(
        self, action: _Action, *targets: selection.Target
    ) -> list[outcomes.Outcome]:
        self.action = action
        return list(map_changes.planned(action, targets, self.known))

    def apply(
        self, item: outcomes.Outcome, ours: frozenset[str] = frozenset()
    ) -> str:
        cluster: Any = self.image
        return map_changes.MapChanges(
            self.action, self.known, cluster, lambda ident: self.now
        ).make(item, None, ours)

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
            [each.code for each in results],
        )

    @ddt.data((frozenset(), False), (frozenset({facts.OTHER}), True))
    @ddt.unpack
    def test_image_without_a_volume_needs_its_owner(
        self, servers: frozenset[str], has_owner: bool
    ) -> None:
        self.image.there = facts.MAPPED
        disk = facts.image(f'{facts.OTHER}_disk')
        self.read.return_value = disk
        self.known = facts.known(servers=servers)
        (change,) = self.planned(_Action.DISABLE, selection.Target(disk))
        if has_owner:
            self.assertEqual(
                'disabled fast-diff,object-map', self.apply(change)
            )
            return
        error = self.assertRaises(outcomes.Refused, self.apply, change)
        self.assertIs(decisions.REPLACED, error.reason)

    def test_image_that_was_changed_since_the_plan_stays(self) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.image.there = facts.MAPPED
        self.read.return_value = facts.image()
        self.assertRaises(outcomes.Unneeded, self.apply, change, _OURS)
        self.assertEqual([], self.image.calls)

    def test_image_of_another_owner_is_refused(self) -> None:
        target = selection.Target(facts.image(owner='another cloud'))
        for action in _Action:
            (refused,) = self.planned(action, target)
            self.assertIs(outcomes.Status.REFUSED, refused.status)
            self.assertEqual('image-of-another-cloud', refused.code)

    @ddt.data(
        (None, decisions.REPLACED),
        (facts.volume(image_id=facts.OTHER), decisions.REPLACED),
        (facts.volume(pool='host@two#two'), decisions.POOL_UNKNOWN),
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
        error = self.assertRaises(outcomes.Refused, self.apply, change)
        self.assertIs(reason, error.reason)
        self.assertEqual([], self.image.calls)

    def test_image_that_ends_a_process_is_not_opened(self) -> None:
        (change,) = self.planned(_Action.ENABLE, _target())
        self.read.side_effect = reading.NotRead('SIGFPE')
        self.assertRaises(reading.NotRead, self.apply, change)
        self.assertEqual([], self.image.calls)

    def test_size_counts_maps_of_snapshots(self) -> None:
        image = facts.image(
            snapshots=(facts.snapshot('one'), facts.snapshot('two')),
            map_state=images.MapState.INVALID,
        )
        (change,) = self.planned(_Action.REBUILD, selection.Target(image))
        self.assertEqual(3 * 2**30, change.size)
