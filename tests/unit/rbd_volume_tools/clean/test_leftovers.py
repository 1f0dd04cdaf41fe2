# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.clean.leftovers.

The functional test of clean plants a leftover of each kind and owner.
"""

import dataclasses
import datetime
from typing import Any

import ddt

from rbd_volume_options import ownership
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import databases
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.clean import leftover_case

_CASE = leftover_case
_NAME, _LIVE, _OURS, _HOUR = _CASE.NAME, _CASE.LIVE, _CASE.OURS, _CASE.HOUR
_DELETED = _CASE.DELETED
_SNAPSHOT = (findings.CLONE_SNAPSHOT, f'{_LIVE}@{_CASE.CLONE}')
_DISK = (findings.ORPHAN_DISK, f'{facts.OTHER}_disk')
_IMAGE = (findings.ORPHAN_IMAGE, facts.OTHER)
_REST = (findings.HALF_REMOVED, _NAME)
_BY_RECORD = f'deleted record of volume {facts.OTHER}'
_BY_MARK = f'mark of the cloud {_OURS}, deleted record'
_State = objects.TrashState


def _row(**values: Any) -> dict[str, databases.Row]:
    return {facts.OTHER: dataclasses.replace(_DELETED, **values)}


@ddt.ddt
class TableTest(leftover_case.LeftoverTestCase):
    @ddt.data(*leftovers.TABLE.values())
    def test_each_row_needs_a_proof_and_no_record(
        self, row: evidence.Leftover
    ) -> None:
        self.assertTrue(row.looks and row.kill and row.proofs)
        for obstacle in (
            *(leftovers.RECORDED, leftovers.FOREIGN_POOL),
            *(leftovers.UNPROVEN, leftovers.TOO_YOUNG),
        ):
            self.assertIn(obstacle, row.never)
        way = evidence.Way
        if row.way is way.SNAPSHOT:
            # There is no trash for snapshots.
            self.assertEqual((leftovers.RECORD,), row.proofs)
        elif row.way is not way.NAME:
            self.assertIn(leftovers.FOREIGN, row.never)
            self.assertIn(leftovers.RELEASED, row.never)
            self.assertIn(leftovers.LATER, row.never)
        if row.way is not way.NAME:
            self.assertIn(leftovers.IN_USE, row.never)
            self.assertIn(leftovers.CHILDREN, row.never)

    def test_each_reason_has_a_code_of_its_own_and_says_what_to_do(
        self,
    ) -> None:
        told = {
            (each.code, each.remedy)
            for row in leftovers.TABLE.values()
            for each in row.never
        }
        self.assertEqual(len(told), len({code for code, _ in told}))
        for _, remedy in told:
            self.assertTrue(remedy.endswith('.'), remedy)


@ddt.ddt
class ProofTest(leftover_case.LeftoverTestCase):
    @ddt.data(
        (_OURS, _row(), False, _BY_RECORD),
        (_OURS, _row(has_record=False), False, _BY_MARK),
        ('', _row(), True, leftovers.APPROVED),
        (_OURS, {}, True, leftovers.APPROVED),
        (ownership.RELEASED, _row(), True, leftovers.APPROVED),
        ('', {}, False, 'owner-unknown'),
        ('', _row(), False, 'owner-unknown'),
        ('', _row(has_record=False), False, 'owner-unknown'),
        (_CASE.OTHER, _row(), False, 'image-of-another-cloud'),
        (_CASE.OTHER, _row(), True, 'image-of-another-cloud'),
        (ownership.RELEASED, _row(), False, 'unmanaged'),
        # The stock driver of that back end leaves the mark.
        (
            *(_OURS, _row(has_record=False, backends=('host@stock#1',))),
            *(False, 'owner-unknown'),
        ),
        # A database of yesterday lacks the volumes of today.
        (_OURS, {}, False, 'never-recorded'),
        # As ``UPDATE volumes SET deleted = 1`` leaves it: the image may have
        # been restored since.
        (_OURS, _row(deleted_at=None), False, 'never-recorded'),
    )
    @ddt.unpack
    def test_image_of_a_volume(
        self,
        mark: str,
        rows: dict[str, databases.Row],
        is_approved: bool,
        result: str,
    ) -> None:
        self.image.mark, self.rows = mark, rows
        place = 'volumes/abc' if is_approved else 'other/abc'
        self.sources.approved = frozenset({place})
        self.assertEqual(result, self.result())

    @ddt.data(
        ({}, '', 'owner-unknown'),
        ({'marking': frozenset()}, _OURS, 'owner-unknown'),
        ({'marking': frozenset(), 'cloud_id': ''}, '', 'owner-unknown'),
        # Our driver marks what it unmanages as released, in any case.
        ({'cloud_id': ''}, '', _BY_RECORD),
        # A mark without an ID of this cloud is that of another one.
        ({'cloud_id': ''}, _OURS, 'image-of-another-cloud'),
    )
    @ddt.unpack
    def test_record_of_a_volume_that_the_stock_driver_may_have_unmanaged(
        self, values: dict[str, Any], mark: str, result: str
    ) -> None:
        """It leaves the mark, and the database keeps our record."""
        self.know(**values)
        self.image.mark = mark
        self.assertEqual(result, self.result())
        # A name without a header leads to no data.
        self.has_header.return_value = False
        self.image.inventory = lambda progress: objects.Inventory()
        self.assertEqual(_BY_RECORD, self.result(*_REST))

    def test_image_that_is_younger_than_the_deletion_is_not_proven(
        self,
    ) -> None:
        """Somebody restored it, or gave another image the name."""
        self.named_at.return_value = _CASE.NOW - _HOUR / 2
        self.assertEqual('later-than-deletion', self.result())
        # Also in a cloud without an ID, whose images have no mark.
        self.know(cloud_id='')
        self.image.mark = ''
        self.assertEqual('later-than-deletion', self.result())

    def test_disk_of_a_server_needs_the_mark_and_a_deleted_record(
        self,
    ) -> None:
        """Nova does not tell the pool: a copy of it has the same names."""
        self.know(servers=frozenset({facts.IDENT}))
        self.listed[f'{facts.IDENT}_disk'] = 'ghi'
        self.assertEqual('never-recorded', self.result(*_DISK))
        self.cloud.server_deleted.return_value = _CASE.NOW - _HOUR
        self.assertEqual(_BY_MARK, self.result(*_DISK))
        self.image.mark = ''
        self.assertEqual('owner-unknown', self.result(*_DISK))
        # A name without a header and without data has no mark.
        self.has_header.return_value = False
        self.image.inventory = lambda progress: objects.Inventory()
        self.assertEqual(
            f'deleted record of server disk {facts.OTHER}',
            self.result(findings.HALF_REMOVED, f'{facts.OTHER}_disk'),
        )

    @ddt.data(
        ({}, f'deleted record of image of Glance {facts.OTHER}'),
        ({'deleted_at': None}, 'owner-unknown'),
        ({'locations': (f'rbd://x/volumes/{facts.OTHER}',)}, 'owner-unknown'),
        # Glance can restore it.
        ({'is_deleted': False}, 'recorded'),
    )
    @ddt.unpack
    def test_image_of_glance_has_a_deleted_record_of_its_place(
        self, values: dict[str, Any], result: str
    ) -> None:
        self.image.mark = ''
        row = databases.Row(
            *(True, _CASE.NOW - _HOUR),
            locations=(f'rbd://fsid/volumes/{facts.OTHER}',),
        )
        self.stored.image.return_value = dataclasses.replace(row, **values)
        self.assertEqual(result, self.result(*_IMAGE))

    def test_image_that_only_the_database_of_glance_knows_needs_it(
        self,
    ) -> None:
        self.assertEqual('never-recorded', self.result(*_IMAGE))

    @ddt.data(
        (facts.OTHER, 'backups', True, True),
        (facts.IDENT, 'backups', True, False),
        (facts.OTHER, 'of the copied pool', True, False),
        (facts.OTHER, 'backups', False, False),
    )
    @ddt.unpack
    def test_backup_of_another_volume_or_pool_proves_nothing(
        self, volume: str, pool: str, has_time: bool, is_proof: bool
    ) -> None:
        image = f'volume-{facts.OTHER}.backup.base'
        snapshot = f'backup.{facts.IDENT}.snap.1.5'
        self.image.snapshots = [snapshot]
        self.know(
            backed_up=frozenset({facts.OTHER}),
            backends={facts.CINDER_POOL: 'backups'},
        )
        self.stored.backup.return_value = databases.Row(
            *(True, _CASE.NOW - _HOUR if has_time else None),
            volume=volume,
            container=pool,
        )
        self.assertEqual(
            f'deleted record of backup {facts.IDENT}'
            if is_proof
            else 'owner-unknown',
            self.result(
                *(findings.ORPHAN_BACKUP, f'{image}@{snapshot}', 'backups')
            ),
        )

    @ddt.data((False, True), (True, False))
    @ddt.unpack
    def test_snapshot_of_an_image_that_was_given_away_is_not_proven(
        self, is_deleted: bool, is_proof: bool
    ) -> None:
        self.snapshot_of_live()
        self.rows[facts.IDENT] = dataclasses.replace(
            _DELETED, is_deleted=is_deleted
        )
        self.assertEqual(
            f'deleted record of clone {facts.OTHER}'
            if is_proof
            else 'owner-unknown',
            self.result(*_SNAPSHOT),
        )
        # The image of a deleted source was never given away.
        name = f'{_LIVE}.deleted@{_CASE.CLONE}'
        self.assertIn(
            'deleted record of clone',
            self.result(findings.CLONE_SNAPSHOT, name),
        )


@ddt.ddt
class ObstacleTest(leftover_case.LeftoverTestCase):
    def test_last_sign_of_life_counts_for_the_age(self) -> None:
        self.image.accessed = self.image.created + 1.75 * _HOUR
        self.assertEqual('too-young', self.result())
        self.image.accessed = self.image.created
        late = _CASE.NOW - _HOUR / 4
        self.rows = _row(deleted_at=late)
        self.assertEqual('too-young', self.result())
        self.rows = _row()
        self.assertEqual(_BY_RECORD, self.result())
        self.assertEqual(
            _DELETED.deleted_at, self._time(self.item().seen['last_sign'])
        )
        # A restoration from the trash changes nothing else.
        self.named_at.return_value = _CASE.NOW - 1.5 * _HOUR
        self.rows = _row(deleted_at=_CASE.NOW - 1.25 * _HOUR)
        self.assertEqual(
            _CASE.NOW - 1.25 * _HOUR, self._time(self.item().seen['last_sign'])
        )

    def _time(self, text: str) -> datetime.datetime:
        return datetime.datetime.fromisoformat(text)

    def test_damaged_image_is_refused(self) -> None:
        self.image.fault = 'librbd ends its process: SIGFPE'
        self.snapshot_of_live()
        self.assertEqual('damaged', self.result())
        self.assertEqual('damaged', self.result(*_SNAPSHOT))
        self.trash()
        self.assertEqual('damaged', self.result(findings.IN_TRASH))

    @ddt.data(
        (findings.IN_TRASH, _State.REMOVING, True),
        (findings.IN_TRASH, _State.SETTLED, True),
        (findings.IN_TRASH, _State.MOVING, False),
        (findings.IN_TRASH, _State.RESTORING, False),
        (findings.HALF_TRASHED, _State.MOVING, True),
        (findings.HALF_TRASHED, _State.REMOVING, False),
        (findings.HALF_TRASHED, _State.RESTORING, False),
    )
    @ddt.unpack
    def test_interrupted_operation_of_the_trash_is_completed_by_its_own_kind(
        self, kind: findings.Kind, state: objects.TrashState, is_removed: bool
    ) -> None:
        self.trash(state=state)
        result = _BY_RECORD if is_removed else 'deferred'
        self.assertEqual(result, self.result(kind))

    def test_entry_of_the_trash_without_a_header_has_no_data(self) -> None:
        self.trash()
        self.has_header.return_value = False
        listed = objects.Inventory()
        self.image.inventory = lambda progress: listed
        self.assertEqual(_BY_RECORD, self.result(findings.IN_TRASH))
        listed.data[1, 'abc'] = 3
        self.assertEqual('not-a-rest', self.result(findings.IN_TRASH))
        self.trash(name='other')
        self.assertEqual('changed', self.result(findings.IN_TRASH))

    def test_name_stays_while_there_may_be_data(self) -> None:
        """Nothing else would name it."""
        listed = objects.Inventory()
        self.image.inventory = lambda progress: listed
        self.assertEqual('not-a-rest', self.result(*_REST))
        self.has_header.return_value = False
        self.assertEqual(_BY_RECORD, self.result(*_REST))
        self.trash()
        self.assertEqual('not-a-rest', self.result(*_REST))
        self.in_trash.return_value = None
        self.id_of.return_value = ('another', 1)
        self.assertEqual('changed', self.result(*_REST))
        self.id_of.return_value = None
        listed.unlisted['data'] = 'not permitted'
        self.assertEqual('objects-not-listed', self.result(*_REST))

    @ddt.data(
        ('migrating', 'busy'),
        ('retyping', 'busy'),
        ('group', 'in-group'),
        ('mirrored', 'mirrored'),
        ('prepared', 'migrating'),
        # Another service answers 404, or the user may not see the volume.
        ('unseen', 'changed'),
        ('gone', 'changed'),
        # Its host may have lost the network, and its server still runs.
        ('stale', 'lock-owner-gone'),
        ('opened', 'in-use'),
        ('by hand', 'locked'),
        ('cloned', 'children'),
    )
    @ddt.unpack
    def test_snapshot_stays_while_another_operation_needs_it(
        self, what: str, code: str
    ) -> None:
        """What reads all snapshots need not watch the image."""
        self.snapshot_of_live()
        volume = {
            'migrating': facts.volume(migrating=True),
            'retyping': facts.volume(status=what),
            'unseen': None,
        }
        if what in volume:
            self.cloud.volume.side_effect = lambda ident: (
                volume[what] if ident == facts.IDENT else None
            )
        elif what == 'group':
            self.image.group = 'daily'
        elif what == 'mirrored':
            self.image.is_mirrored = True
        elif what == 'prepared':
            self.image.is_migrating = True
        elif what == 'gone':
            self.image.snapshots = []
        elif what == 'opened':
            watcher = {'addr': 'address', 'id': 7, 'cookie': 9}
            self.image.watchers = [watcher]
        elif what == 'cloned':
            self.image.children = ['volumes/clone']
        else:
            self.lock()
        if what == 'by hand':
            self.image.lockers['tag'] = what
        self.assertEqual(code, self.result(*_SNAPSHOT))
        if code in (
            *('in-group', 'mirrored', 'migrating'),
            *('in-use', 'locked', 'children'),
        ):
            self.image.snapshots = ['one'] if what == 'cloned' else []
            self.assertEqual(code, self.result())
