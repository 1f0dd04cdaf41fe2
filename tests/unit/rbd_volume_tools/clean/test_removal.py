# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any
from unittest import mock

import ddt

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.clean import leftover_case

_NAME, _HOUR = leftover_case.NAME, leftover_case.HOUR
_ITEM = outcomes.Outcome(outcomes.Status.PLANNED, 'volumes', 'volume-1', 'abc')
_MOVED = [(_NAME, 172800)]


@ddt.ddt
class RemovalTest(leftover_case.LeftoverTestCase):
    def apply(self, item: outcomes.Outcome, *ours: str) -> str:
        removed = removal.Removal(self.sources, item, self.image)
        return removed.make(frozenset(ours))

    def refused(self, item: outcomes.Outcome, reason: outcomes.Reason) -> None:
        error = self.assertRaises(outcomes.Refused, self.apply, item)
        self.assertEqual(reason.code, error.reason.code)

    @ddt.data('ident', 'accessed', 'lock')
    def test_image_that_changed_since_the_plan_is_refused(
        self, what: str
    ) -> None:
        item = self.item()
        if what == 'lock':
            self.lock()
        elif what == 'ident':
            self.image.ident = 'bcd'
        else:
            self.image.accessed = self.image.created + 1.25 * _HOUR
        self.refused(item, leftovers.CHANGED)
        self.assertEqual([], self.image.moved)

    def test_move_that_was_killed_is_resumed(self) -> None:
        """librbd finds an unfinished move by the state of its entry."""
        item = self.item()
        self.trash(moved=leftover_case.NOW, state=objects.TrashState.MOVING)
        self.apply(item)
        self.assertEqual(_MOVED, self.image.moved)

    def test_name_that_has_another_image_is_not_moved(self) -> None:
        item = self.item()
        self.trash(moved=leftover_case.NOW, state=objects.TrashState.MOVING)
        self.listed[_NAME] = 'bcd'
        self.refused(item, leftovers.CHANGED)
        self.assertEqual([], self.image.moved)

    @ddt.data(None, objects.TrashState.RESTORING)
    def test_image_that_is_restored_meanwhile_keeps_its_snapshots(
        self, state: objects.TrashState | None
    ) -> None:
        entry = self.trash()
        restored = state and dataclasses.replace(entry, state=state)
        # The plan, the examination, and one look before each snapshot.
        self.in_trash.side_effect = [entry, entry, entry, restored]
        self.image.snapshots = ['one', 'two']
        self.refused(self.item(findings.IN_TRASH), leftovers.CHANGED)
        self.assertEqual(['two'], self.image.snapshots)

    def test_stale_lock_is_broken_on_request_only(self) -> None:
        self.lock()
        broken: list[Any] = []
        self.image.break_lock = lambda *lock: broken.append(lock)
        item = self.item()
        self.assertEqual('address', item.seen['stale_lock'])
        self.refused(item, leftovers.STALE_LOCK)
        self.assertEqual([], self.image.moved)
        self.sources.breaks_locks = True
        self.apply(item)
        self.assertEqual([('client.40', 'auto 9')], broken)
        self.assertEqual(_MOVED, self.image.moved)

    def test_snapshot_is_removed_while_its_image_is_not_locked(self) -> None:
        self.snapshot_of_live()
        name = f'{leftover_case.LIVE}@{leftover_case.CLONE}'
        self.apply(self.item(findings.CLONE_SNAPSHOT, name))
        self.assertEqual([], self.image.snapshots)


class PlannedTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.sources: Any = mock.Mock(cluster=mock.MagicMock())
        cluster = self.sources.cluster
        cluster.librbd = stubs.Pool()
        cluster.librados.Error = KeyError
        cluster.connected.return_value.__enter__.return_value = (None, None)
        for module, name, function in (
            (removal, 'examine', self.examined),
            (
                *(objects, 'is_gone'),
                lambda rados, ioctx, pool, name, ident: name == 'gone',
            ),
        ):
            patch = mock.patch.object(
                module, name, autospec=True, side_effect=function
            )
            patch.start()
            self.addCleanup(patch.stop)

    def examined(
        self,
        sources: evidence.Sources,
        ioctx: Any,
        kind: findings.Kind,
        pool: str,
        image: str,
        ident: str,
    ) -> outcomes.Outcome:
        if image == 'unknown':
            raise outcomes.Refused(leftovers.UNKNOWN)
        if image == 'forbidden':
            raise stubs.PermissionError('may not read its clones')
        if image in ('gone', 'incomplete'):
            raise stubs.ImageNotFound('no such parent')
        if image == 'unanswered':
            raise outcomes.NotAnswered('The database')
        if image == 'not text':
            raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'no text')
        return dataclasses.replace(_ITEM, image=image, project=f'of {image}')

    def made(self, *images: str, **wanted: Any) -> list[tuple[str, str]]:
        now = datetime.datetime.now(datetime.timezone.utc)
        audited = report.Report(
            *(now, 0, ()),
            tuple(
                findings.Finding(findings.ORPHAN_VOLUME, 'volumes', image)
                for image in images
            ),
            (),
        )
        return [
            (each.status.value, each.image)
            for each in removal.planned(audited, self.sources, **wanted)
        ]

    def test_each_leftover_has_its_result_and_none_ends_the_plan(self) -> None:
        self.assertEqual(
            [
                ('owner unknown', 'unknown'),
                ('failed', 'forbidden'),
                ('failed', 'unanswered'),
                ('failed', 'not text'),
                ('unchanged', 'gone'),
                ('failed', 'incomplete'),
                ('planned', 'one'),
            ],
            self.made(
                *('unknown', 'forbidden', 'unanswered', 'not text'),
                *('gone', 'incomplete', 'one'),
            ),
        )

    def test_filters_narrow_the_plan(self) -> None:
        self.assertEqual(
            [('planned', 'a1')], self.made('a1', 'b1', patterns=('a*',))
        )
        self.assertEqual(
            [('planned', 'b1')],
            self.made('a1', 'b1', projects=frozenset({'of b1'})),
        )
        self.assertEqual(
            [], self.made('a1', kinds=frozenset({'orphan-image'}))
        )
        self.assertEqual(
            [('planned', 'a1'), ('refused', 'b1')],
            self.made('a1', 'b1', limit=1),
        )
