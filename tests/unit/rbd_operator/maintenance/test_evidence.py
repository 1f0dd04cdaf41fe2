# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_operator.maintenance.evidence.

The functional test of clean plants images of each owner.
"""

import datetime
from typing import Any
from unittest import mock

import ddt

from rbd_operator.audit import names
from rbd_operator.audit import records
from rbd_operator.maintenance import databases
from rbd_operator.maintenance import evidence
from rbd_operator.maintenance import outcomes
from rbd_volume_options import ownership
from tests.unit import base
from tests.unit.rbd_operator.audit import facts

_OURS, _OTHER = 'our cloud', 'other cloud'
_NAME = names.Name(names.Owner.VOLUME, facts.OTHER)
_DELETED = databases.Row(
    True,
    datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
    'project',
    (facts.CINDER_POOL,),
    has_record=True,
)


@ddt.ddt
class EvidenceTest(base.TestCase):
    def made(
        self,
        row: databases.Row | None = None,
        approved: str = '',
        volume: records.Volume | None = None,
    ) -> evidence.Evidence:
        cloud = mock.create_autospec(evidence.Cloud, instance=True)
        cloud.volume.return_value = volume
        cloud.has_record.return_value = False
        cloud.server_deleted.return_value = None
        stored = mock.create_autospec(databases.Databases, instance=True)
        stored.volumes.return_value = [row] if row else []
        return evidence.Evidence(
            facts.known(facts.volume(), cloud_id=_OURS),
            cloud,
            stored,
            frozenset({approved}),
        )

    def proof(self, owner: str = '', **how: Any) -> evidence.Proof:
        there = self.made(**how)
        owners = there.owners_in('volumes', {f'volume-{facts.IDENT}'})
        return there.proof('volumes', 'abc', _NAME, owner, owners)

    @ddt.data(
        ('', {'row': _DELETED}, 'deleted record'),
        (_OURS, {}, 'mark of the cloud'),
        ('', {'approved': 'volumes/abc'}, evidence.APPROVED),
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
        (
            '',
            {'row': databases.Row(True, backends=(facts.CINDER_POOL,))},
            evidence.UNKNOWN,
        ),
    )
    @ddt.unpack
    def test_anything_else_proves_nothing(
        self, owner: str, how: dict[str, Any], reason: outcomes.Reason
    ) -> None:
        error = self.assertRaises(outcomes.Refused, self.proof, owner, **how)
        self.assertIs(reason, error.reason)

    def test_mark_without_an_id_of_this_cloud_proves_nothing(self) -> None:
        there = evidence.Evidence(
            facts.known(), mock.Mock(), databases.Databases()
        )
        self.assertRaises(
            outcomes.Refused,
            *(there.proof, 'volumes', 'abc', _NAME, ''),
            {names.Owner.VOLUME},
        )

    def test_pool_without_an_image_of_this_cloud_is_left_alone(self) -> None:
        there = self.made(_DELETED)
        owners = there.owners_in('other', {f'volume-{facts.IDENT}'})
        error = self.assertRaises(
            outcomes.Refused,
            *(there.proof, 'other', 'abc', _NAME, _OURS, owners),
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

    def test_retype_protects_its_copy_only_while_it_runs(self) -> None:
        name = names.Name(names.Owner.RETYPE_COPY, facts.OTHER)
        running = facts.volume(facts.OTHER, status='retyping')
        self.assertRaises(
            outcomes.Refused,
            self.made(volume=running).require_no_record,
            name,
        )
        ended = facts.volume(facts.OTHER)
        self.made(volume=ended).require_no_record(name)

    def test_backup_of_another_volume_proves_nothing(self) -> None:
        there: Any = self.made()
        image = names.Name(names.Owner.BACKUP_IMAGE, facts.OTHER)
        snapshot = names.Name(names.Owner.BACKUP, facts.IDENT)
        for volume, is_proof in ((facts.OTHER, True), (facts.IDENT, False)):
            there.stored.backup.return_value = databases.Row(
                True, volume=volume
            )
            arguments = ('backups', image, snapshot, {image.owner})
            if is_proof:
                self.assertIn(
                    'deleted record', there.proof_of_snapshot(*arguments).text
                )
            else:
                self.assertRaises(
                    outcomes.Refused, there.proof_of_snapshot, *arguments
                )
