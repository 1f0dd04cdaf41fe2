# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.audit.evidence.

The functional test of clean plants images of each owner.
"""

import dataclasses
import datetime
from typing import Any
from unittest import mock
import uuid

import ddt

from rbd_volume_options import ownership
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

_DAY = datetime.timedelta(days=1)
_NEWEST = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_OURS, _OTHER = 'our cloud', 'other cloud'
_NAME = names.Name(names.Owner.VOLUME, facts.OTHER)
_DELETED = databases.Row(
    True,
    _NEWEST,
    'project',
    (facts.CINDER_POOL,),
    has_record=True,
)
_OF_STOCK = dataclasses.replace(_DELETED, has_record=False)
# As ``UPDATE volumes SET deleted = 1`` leaves it.
_TIMELESS = dataclasses.replace(_DELETED, deleted_at=None)


@ddt.ddt
class EvidenceTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.recorded: set[tuple[names.Owner, str]] = set()
        self.image_rows: dict[str, databases.Row] = {}
        self.others: set[names.Owner] = set()
        self.server_deleted: datetime.datetime | None = None
        self.created: datetime.datetime | None = _NEWEST - _DAY

    def made(
        self,
        row: databases.Row | None = None,
        approved: str = '',
        volume: records.Volume | None = None,
    ) -> evidence.Evidence:
        cloud = mock.create_autospec(evidence.Cloud, instance=True)
        cloud.volume.return_value = volume
        cloud.has_record.side_effect = lambda *what: what in self.recorded
        cloud.server_deleted.return_value = self.server_deleted
        stored = mock.create_autospec(databases.Databases, instance=True)
        stored.volumes.return_value = [row] if row else []
        stored.image.side_effect = self.image_rows.get
        return evidence.Evidence(
            facts.known(
                facts.volume(),
                cloud_id=_OURS,
                cluster='fsid',
                images=frozenset({facts.OTHER}),
                marking=frozenset({facts.CINDER_POOL}),
            ),
            cloud,
            stored,
            frozenset({approved}),
        )

    def proof(
        self, owner: str = '', name: names.Name = _NAME, **how: Any
    ) -> evidence.Proof:
        proofs = self.made(**how)
        owners = proofs.owners_in('volumes', {f'volume-{facts.IDENT}'})
        return proofs.proof(
            'volumes', 'abc', name, owner, owners | self.others, self.created
        )

    @ddt.data(
        (_OURS, {'row': _DELETED}, 'deleted record'),
        (_OURS, {'row': _OF_STOCK}, 'mark of the cloud'),
        ('', {'approved': 'volumes/abc'}, evidence.APPROVED),
        (_OURS, {'approved': 'volumes/abc'}, evidence.APPROVED),
        (
            ownership.RELEASED,
            {'approved': 'volumes/abc'},
            evidence.APPROVED,
        ),
    )
    @ddt.unpack
    def test_each_proof_is_accepted(
        self, owner: str, how: dict[str, Any], text: str
    ) -> None:
        self.assertIn(text, self.proof(owner, **how).text)

    @ddt.data(
        ('', {}, evidence.UNKNOWN),
        ('', {'approved': 'other/abc'}, evidence.UNKNOWN),
        (_OTHER, {'row': _DELETED}, evidence.FOREIGN),
        (_OTHER, {'approved': 'volumes/abc'}, evidence.FOREIGN),
        (ownership.RELEASED, {'row': _DELETED}, evidence.RELEASED),
        ('', {'row': databases.Row(True)}, evidence.UNKNOWN),
        ('', {'row': _OF_STOCK}, evidence.UNKNOWN),
        (
            _OURS,
            {
                'row': dataclasses.replace(
                    _OF_STOCK, backends=('host@stock#1',)
                )
            },
            evidence.UNKNOWN,
        ),
        ('', {'row': _DELETED}, evidence.UNKNOWN),
        # A database of yesterday lacks the volumes of today.
        (_OURS, {}, evidence.NEVER_RECORDED),
        # The image may have been restored since.
        (_OURS, {'row': _TIMELESS}, evidence.NEVER_RECORDED),
    )
    @ddt.unpack
    def test_anything_else_proves_nothing(
        self, owner: str, how: dict[str, Any], reason: outcomes.Reason
    ) -> None:
        error = self.assertRaises(outcomes.Refused, self.proof, owner, **how)
        self.assertIs(reason, error.reason)

    @ddt.data(
        ({}, ''),
        ({'marking': frozenset()}, _OURS),
        ({'marking': frozenset(), 'cloud_id': ''}, ''),
    )
    @ddt.unpack
    def test_record_proves_nothing_if_the_stock_driver_unmanaged_the_volume(
        self, values: dict[str, Any], mark: str
    ) -> None:
        """It leaves the mark, and the database keeps our record."""
        proofs = self.made(_DELETED)
        proofs = dataclasses.replace(
            proofs, known=dataclasses.replace(proofs.known, **values)
        )
        arguments = ('volumes', 'abc', _NAME, mark, {_NAME.owner})
        error = self.assertRaises(
            outcomes.Refused, proofs.proof, *arguments, self.created
        )
        self.assertIs(evidence.UNKNOWN, error.reason)
        # A name without a header leads to no data.
        self.assertIn('deleted record', proofs.proof(*arguments).text)

    def test_record_proves_a_volume_of_a_cloud_without_an_id(self) -> None:
        """Our driver marks what it unmanages as released, in any case."""
        proofs = self.made(_DELETED)
        proofs = dataclasses.replace(
            proofs, known=dataclasses.replace(proofs.known, cloud_id='')
        )
        arguments = ('volumes', 'abc', _NAME, '', {_NAME.owner}, self.created)
        self.assertIn('deleted record', proofs.proof(*arguments).text)

    def test_image_that_is_younger_than_the_deletion_is_not_proven(
        self,
    ) -> None:
        """Somebody restored it, or gave another image the name."""
        self.created = _NEWEST + _DAY
        error = self.assertRaises(
            outcomes.Refused, self.proof, _OURS, row=_DELETED
        )
        self.assertIs(evidence.LATER, error.reason)
        # Also in a cloud without an ID, whose images have no mark.
        proofs = self.made(_DELETED)
        proofs = dataclasses.replace(
            proofs, known=dataclasses.replace(proofs.known, cloud_id='')
        )
        error = self.assertRaises(
            outcomes.Refused,
            proofs.proof,
            *('volumes', 'abc', _NAME, '', {_NAME.owner}, self.created),
        )
        self.assertIs(evidence.LATER, error.reason)

    def test_disk_of_a_server_needs_the_mark_and_a_deleted_record(
        self,
    ) -> None:
        """Nova does not tell the pool: a copy of it has the same names."""
        name = names.Name(names.Owner.SERVER_DISK, facts.OTHER)
        self.others = {name.owner}
        for owner, deleted, reason in (
            (_OURS, None, evidence.NEVER_RECORDED),
            ('', _NEWEST, evidence.UNKNOWN),
        ):
            self.server_deleted = deleted
            error = self.assertRaises(
                outcomes.Refused, self.proof, owner, name
            )
            self.assertIs(reason, error.reason)
        self.others = set()
        self.assertIn('mark', self.proof(_OURS, name).text)
        # A name without a header and without data has no mark.
        self.created, self.others = None, {name.owner}
        self.assertIn('deleted record', self.proof('', name).text)

    def test_deleted_image_that_glance_can_restore_is_not_proven(self) -> None:
        """Without the database of Glance, nobody knows of it."""
        name = names.Name(names.Owner.GLANCE_IMAGE, facts.OTHER)
        error = self.assertRaises(outcomes.Refused, self.proof, _OURS, name)
        self.assertIs(evidence.NEVER_RECORDED, error.reason)

    @ddt.data((_NEWEST, True), (None, False))
    @ddt.unpack
    def test_deleted_image_without_the_time_of_deletion_is_not_proven(
        self, deleted_at: datetime.datetime | None, is_proof: bool
    ) -> None:
        self.image_rows[facts.OTHER] = databases.Row(
            True, deleted_at, locations=(f'rbd://fsid/volumes/{facts.OTHER}',)
        )
        name = names.Name(names.Owner.GLANCE_IMAGE, facts.OTHER)
        if is_proof:
            self.assertIn('deleted record', self.proof(name=name).text)
            return
        error = self.assertRaises(outcomes.Refused, self.proof, name=name)
        self.assertIs(evidence.UNKNOWN, error.reason)

    @ddt.data((None, False), ('other', False), ('fsid', True))
    @ddt.unpack
    def test_image_that_a_tenant_gave_a_foreign_id_shows_no_pool(
        self, cluster: str | None, is_ours: bool
    ) -> None:
        """Anybody can create an image record with the ID of another cloud."""
        if cluster:
            url = f'rbd://{cluster}/volumes/{facts.OTHER}/snap'
            self.image_rows[facts.OTHER] = databases.Row(
                False, locations=(url,)
            )
        owners = self.made().owners_in('volumes', {facts.OTHER})
        self.assertEqual(is_ours, bool(owners))

    def test_any_record_of_the_id_protects_a_bare_id(self) -> None:
        """With volume_name_template = %s, it is the name of a volume."""
        name = names.Name(names.Owner.GLANCE_IMAGE, facts.IDENT)
        error = self.assertRaises(
            outcomes.Refused, self.made().require_no_record, name
        )
        self.assertIs(evidence.RECORDED, error.reason)
        name = names.Name(names.Owner.VOLUME, str(uuid.uuid4()))
        self.made().require_no_record(name)
        self.recorded.add((names.Owner.SERVER_DISK, name.ident))
        self.assertRaises(
            outcomes.Refused, self.made().require_no_record, name
        )

    def test_image_of_a_volume_with_backups_may_be_one(self) -> None:
        """A backup that is not incremental has no snapshot."""
        name = names.Name(names.Owner.BACKUP_IMAGE, facts.OTHER)
        proofs = self.made(approved='volumes/abc')
        proofs.require_no_record(name)
        known = dataclasses.replace(
            proofs.known, backed_up=frozenset({facts.OTHER})
        )
        proofs = dataclasses.replace(proofs, known=known)
        error = self.assertRaises(
            outcomes.Refused, proofs.require_no_record, name
        )
        self.assertIs(evidence.RECORDED, error.reason)

    def test_mark_without_an_id_of_this_cloud_proves_nothing(self) -> None:
        proofs = evidence.Evidence(
            facts.known(), mock.Mock(), databases.Databases()
        )
        self.assertRaises(
            outcomes.Refused,
            *(proofs.proof, 'volumes', 'abc', _NAME, ''),
            {names.Owner.VOLUME},
        )

    def test_pool_without_an_image_of_this_cloud_is_left_alone(self) -> None:
        proofs = self.made(_DELETED)
        owners = proofs.owners_in('other', {f'volume-{facts.IDENT}'})
        error = self.assertRaises(
            outcomes.Refused,
            *(proofs.proof, 'other', 'abc', _NAME, _OURS, owners),
        )
        self.assertIs(evidence.FOREIGN_POOL, error.reason)

    @ddt.data(
        {'volume': facts.volume(facts.OTHER)},
        {'row': databases.Row(False)},
    )
    def test_record_anywhere_refuses(self, how: dict[str, Any]) -> None:
        error = self.assertRaises(
            outcomes.Refused, self.made(**how).require_no_record, _NAME
        )
        self.assertIs(evidence.RECORDED, error.reason)

    def test_backup_of_another_volume_or_pool_proves_nothing(self) -> None:
        proofs: Any = self.made()
        image = names.Name(names.Owner.BACKUP_IMAGE, facts.OTHER)
        snapshot = names.Name(names.Owner.BACKUP, facts.IDENT)
        for volume, pool, deleted_at, is_proof in (
            (facts.OTHER, 'backups', _NEWEST, True),
            (facts.IDENT, 'backups', _NEWEST, False),
            (facts.OTHER, 'of the copied pool', _NEWEST, False),
            (facts.OTHER, 'backups', None, False),
        ):
            proofs.stored.backup.return_value = databases.Row(
                True, deleted_at, volume=volume, container=pool
            )
            arguments = ('backups', image, snapshot, {image.owner})
            if is_proof:
                self.assertIn(
                    'deleted record', proofs.proof_of_snapshot(*arguments).text
                )
            else:
                self.assertRaises(
                    outcomes.Refused, proofs.proof_of_snapshot, *arguments
                )

    @ddt.data(
        (names.Owner.VOLUME, False, True),
        # The volume may have been unmanaged.
        (names.Owner.VOLUME, True, False),
        (names.Owner.DELETED_SOURCE, True, True),
    )
    @ddt.unpack
    def test_snapshot_of_an_image_that_was_given_away_is_not_proven(
        self, owner: names.Owner, is_deleted: bool, is_proof: bool
    ) -> None:
        proofs: Any = self.made()
        rows = {
            facts.IDENT: dataclasses.replace(_DELETED, is_deleted=is_deleted),
            facts.OTHER: _DELETED,
        }
        proofs.stored.volumes.side_effect = lambda ident: [rows[ident]]
        arguments = (
            'volumes',
            names.Name(owner, facts.IDENT),
            names.Name(names.Owner.CLONE, facts.OTHER),
            {names.Owner.VOLUME},
        )
        if is_proof:
            text = proofs.proof_of_snapshot(*arguments).text
            self.assertIn('deleted record of clone', text)
            return
        error = self.assertRaises(
            outcomes.Refused, proofs.proof_of_snapshot, *arguments
        )
        self.assertIs(evidence.UNKNOWN, error.reason)
