# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any
from unittest import mock

import ddt

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes
from tests.unit.rbd_volume_tools.clean import examiner_case

_NAME, _HOUR = examiner_case.NAME, examiner_case.HOUR


@ddt.ddt
class RemovalTest(examiner_case.ExaminerTestCase):
    def test_item_goes_to_the_trash_for_the_delay(self) -> None:
        change = removal.Removal(self.item(), self.examiner)
        self.assertIn('2 days', change.apply(None, self.image, frozenset()))
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    @ddt.data('ident', 'accessed')
    def test_image_that_changed_since_the_plan_is_refused(
        self, what: str
    ) -> None:
        change = removal.Removal(self.item(), self.examiner)
        value: Any = 'bcd'
        if what == 'accessed':
            value = self.image.created + _HOUR / 2
        setattr(self.image, what, value)
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(leftovers.CHANGED, error.reason)
        self.assertEqual([], self.image.moved)

    def test_move_that_was_killed_is_resumed(self) -> None:
        """librbd finds an unfinished move by the state of its entry."""
        item = self.item()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *(
                'volumes',
                _NAME,
                'abc',
                objects.TrashSource.USER,
                now,
                now,
            ),
            state=objects.TrashState.MOVING,
        )
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            removal.Removal(item, self.examiner).apply(
                None, self.image, frozenset()
            )
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    @ddt.data(None, objects.TrashState.RESTORING)
    def test_image_that_is_restored_meanwhile_keeps_its_snapshots(
        self, state: objects.TrashState | None
    ) -> None:
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        entry = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.TrashSource.USER),
            *(long_ago, long_ago),
        )
        restored = state and dataclasses.replace(entry, state=state)
        # The plan, the examination, and one look before each snapshot.
        self.in_trash.side_effect = [entry, entry, entry, restored]
        self.image.snapshots = ['one', 'two']
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            item = self.examiner.examine(
                *(
                    self.image,
                    findings.IN_TRASH,
                    'volumes',
                    _NAME,
                    'abc',
                )
            )
            change = removal.Removal(item, self.examiner)
            error = self.assertRaises(
                outcomes.Refused, change.apply, None, self.image, frozenset()
            )
        self.assertIs(leftovers.CHANGED, error.reason)
        self.assertEqual(['two'], self.image.snapshots)

    def test_snapshot_in_the_trash_of_librbd_is_removed(self) -> None:
        """It stays there if the client of its last clone was killed."""
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.TrashSource.USER),
            *(long_ago, long_ago),
        )
        self.image.snapshots = ['one', 'two']
        self.image.namespaces = {'two': 2}
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            item = self.examiner.examine(
                *(
                    self.image,
                    findings.IN_TRASH,
                    'volumes',
                    _NAME,
                    'abc',
                )
            )
            change = removal.Removal(item, self.examiner)
            change.apply(None, self.image, frozenset())
        self.assertEqual([], self.image.snapshots)
        self.assertEqual('abc', self.image.purged)

    def test_name_that_has_another_image_is_not_moved(self) -> None:
        item = self.item()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *(
                'volumes',
                _NAME,
                'abc',
                objects.TrashSource.USER,
                now,
                now,
            ),
            state=objects.TrashState.MOVING,
        )
        self.directory.return_value = {_NAME: 'bcd'}
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            error = self.assertRaises(
                outcomes.Refused,
                removal.Removal(item, self.examiner).apply,
                *(None, self.image, frozenset()),
            )
        self.assertIs(leftovers.CHANGED, error.reason)
        self.assertEqual([], self.image.moved)

    def test_stale_lock_is_broken_on_request_only(self) -> None:
        self.lock()
        item = self.item()
        self.assertEqual('address', item.stale_lock)
        change = removal.Removal(item, self.examiner)
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(leftovers.STALE_LOCK, error.reason)
        self.assertEqual([], self.image.moved)

    def test_lock_that_came_after_the_plan_is_refused(self) -> None:
        change = removal.Removal(self.item(), self.examiner)
        self.lock()
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(leftovers.CHANGED, error.reason)

    def test_lock_of_an_earlier_run_with_the_journal_is_no_obstacle(
        self,
    ) -> None:
        """A plan that was made after the kill shows it as a stale lock."""
        self.lock()
        change = removal.Removal(self.item(), self.examiner)
        change.apply(None, self.image, frozenset({'client.40'}))
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    def test_snapshot_is_removed_while_its_image_is_not_locked(self) -> None:
        change = removal.Removal(self.snapshot(), self.examiner)
        change.apply(None, self.image, frozenset())
        self.assertEqual([], self.image.snapshots)
