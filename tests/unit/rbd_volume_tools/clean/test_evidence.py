# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import names
from rbd_volume_tools.command_line import databases
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.clean import leftover_case

_NAME = leftover_case.NAME


@ddt.ddt
class EvidenceTest(leftover_case.LeftoverTestCase):
    @ddt.data('volume', 'row', 'server', 'backup image', 'snapshot')
    def test_record_anywhere_refuses(self, what: str) -> None:
        kind, name = findings.ORPHAN_VOLUME, _NAME
        if what == 'volume':
            self.cloud.volume.return_value = facts.volume(facts.OTHER)
        elif what == 'row':
            self.rows[facts.OTHER] = dataclasses.replace(
                leftover_case.DELETED, is_deleted=False
            )
        elif what == 'server':
            # Names depend on templates.
            self.cloud.has_record.side_effect = lambda owner, ident: (
                owner is names.Owner.SERVER_DISK
            )
        elif what == 'backup image':
            # A backup that is not incremental has no snapshot.
            self.know(backed_up=frozenset({facts.OTHER}))
            name = f'{_NAME}.backup.base'
        else:
            self.image.snapshots = [f'snapshot-{facts.IDENT}']
            self.cloud.has_record.side_effect = lambda owner, ident: (
                owner is names.Owner.VOLUME_SNAPSHOT
            )
        self.assertEqual('recorded', self.result(kind, name))

    def test_pool_without_an_image_of_this_cloud_is_left_alone(self) -> None:
        self.assertEqual(
            'foreign-pool',
            self.result(findings.ORPHAN_VOLUME, _NAME, 'other'),
        )
        self.listed.clear()
        self.assertEqual('foreign-pool', self.result())

    @ddt.data((None, False), ('other', False), ('fsid', True))
    @ddt.unpack
    def test_image_that_a_tenant_gave_a_foreign_id_shows_no_pool(
        self, cluster: str | None, is_ours: bool
    ) -> None:
        """Anybody can create an image record with the ID of another cloud."""
        ident = facts.IDENT
        self.listed.clear()
        self.listed[ident] = 'ghi'
        self.know(images=frozenset({ident}))
        if cluster:
            url = f'rbd://{cluster}/volumes/{ident}/snap'
            self.stored.image.side_effect = lambda which: (
                databases.Row(False, locations=(url,))
                if which == ident
                else None
            )
        self.assertEqual(not is_ours, self.result() == 'foreign-pool')
