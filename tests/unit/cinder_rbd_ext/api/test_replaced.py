# SPDX-License-Identifier: Apache-2.0


"""Requests about volumes in a retype that replaces their RBD image."""

from typing import Any

from cinder.tests.unit import utils

from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext.api import base

_REPLACED = {wire.RECORD_CONVERSION: '{}'}


class ReplacedTest(base.ApiTestCase):
    def snapshot_of(self, **volume: Any) -> str:
        volume_id = self.volume(**volume).id
        return str(
            utils.create_snapshot(
                self.admin_context,
                volume_id,
                status='available',
                project_id=self.app.project,
            ).id
        )

    def test_snapshot_of_a_volume_whose_image_is_replaced(self) -> None:
        snapshot = self.snapshot_of(status='retyping', made=_REPLACED)
        path = f'/snapshots/{snapshot}'
        text = f'The volume of snapshot {snapshot} is being retyped'
        self.refused(400, text, 'DELETE', path)
        for action in ('os-force_delete', 'os-unmanage'):
            body: Any = {action: {}}
            self.refused(
                400, text, 'POST', f'{path}/action', body, app=self.admin
            )
        body = {'volume': {'snapshot_id': snapshot, 'size': 1}}
        self.refused(400, text, 'POST', '/volumes', body)

    def test_snapshot_of_a_volume_that_is_retyped_in_place(self) -> None:
        snapshot = self.snapshot_of(status='retyping')
        self.ok('DELETE', f'/snapshots/{snapshot}')

    def test_snapshot_of_a_volume_after_its_retype(self) -> None:
        snapshot = self.snapshot_of(made=_REPLACED)
        self.ok('DELETE', f'/snapshots/{snapshot}')

    def test_unknown_snapshot_is_left_to_cinder(self) -> None:
        self.refused(404, 'could not be found', 'DELETE', '/snapshots/x')

    def test_keys_of_a_volume_that_is_retyped(self) -> None:
        meta = {'rbd:cache_mode': 'none', 'a': 'b'}
        volume = self.volume(meta, status='retyping').id
        path = f'/volumes/{volume}/metadata'
        for method, where, body in (
            ('POST', path, {'metadata': {'rbd:cache_mode': 'writeback'}}),
            # What was there before the retype, as a client would send it.
            ('PUT', path, {'metadata': meta}),
            ('PUT', path, {'metadata': {}}),
            ('PUT', f'/volumes/{volume}', {'volume': {'metadata': meta}}),
            ('DELETE', f'{path}/rbd:cache_mode', None),
        ):
            self.refused(400, 'is being retyped', method, where, body)
        self.ok('POST', path, {'metadata': {'a': 'c'}})

    def test_keys_that_a_restore_or_a_migration_would_replace(self) -> None:
        moments: list[tuple[str, dict[str, Any]]] = [
            ('is being restored', {'status': 'restoring-backup'}),
            ('is being migrated', {'migration_status': 'migrating'}),
        ]
        for text, values in moments:
            volume = self.volume({'a': 'b'}, **values).id
            path = f'/volumes/{volume}/metadata'
            body = {'metadata': {'rbd:cache_mode': 'none'}}
            self.refused(400, text, 'POST', path, body)
            self.ok('POST', path, {'metadata': {'a': 'c'}})

    def test_other_metadata_of_a_volume_that_is_retyped(self) -> None:
        volume = self.volume({'a': 'b'}, status='retyping').id
        self.ok('PUT', f'/volumes/{volume}/metadata', {'metadata': {}})
