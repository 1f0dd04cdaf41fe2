# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder.db import api as db
from cinder.tests.unit import utils
import ddt

from rbd_volume_options import image_record
from tests.unit.cinder_rbd_ext.api import base

_WORDS = 'not allowed in snapshot metadata'
_REPLACED = {image_record.RECORD_CONVERSION: '{}'}


class SnapshotsTest(base.ApiTestCase):
    """Tests for snapshots and their metadata."""

    def setUp(self) -> None:
        super().setUp()
        self.there = {'rbd:object_size': '1M', 'RBD:x': '1', 'a': 'b'}
        self.id = utils.create_snapshot(
            self.admin_context,
            self.volume().id,
            metadata=self.there,
            project_id=self.app.project,
        ).id
        self.path = f'/snapshots/{self.id}/metadata'

    def test_new_snapshot(self) -> None:
        volume = self.volume().id
        for key in ('rbd:object_size', 'RBD:object_size', 'rbd:x'):
            snapshot = {'volume_id': volume, 'metadata': {key: '1M'}}
            body: Any = {'snapshot': snapshot}
            self.refused(400, _WORDS, 'POST', '/snapshots', body)
            managed: Any = {**snapshot, 'ref': {'source-name': 's'}}
            for path in ('/os-snapshot-manage', '/manageable_snapshots'):
                body = {'snapshot': managed}
                self.refused(400, _WORDS, 'POST', path, body, app=self.admin)
        snapshot = {'volume_id': volume, 'metadata': {'a': 'b'}}
        self.ok('POST', '/snapshots', {'snapshot': snapshot})
        snapshot['metadata'] = None
        self.ok('POST', '/snapshots', {'snapshot': snapshot})

    def test_snapshot_metadata_refuses_our_keys(self) -> None:
        for key in ('rbd:object_size', 'RBD:object_size', 'rbd:cache_mode'):
            meta = {key: '2M'}
            for method, where, body in (
                ('POST', self.path, {'metadata': meta}),
                ('PUT', self.path, {'metadata': {**self.there, **meta}}),
                ('PUT', f'{self.path}/{key}', {'meta': meta}),
            ):
                self.refused(400, _WORDS, method, where, body)
        self.assertEqual(self.there, self.ok('GET', self.path)['metadata'])

    def test_what_is_there_stays_and_may_go(self) -> None:
        self.ok('POST', self.path, {'metadata': {'a': 'c'}})
        self.ok('POST', self.path, {'metadata': self.there})
        self.ok('PUT', self.path, {'metadata': {**self.there, 'a': 'd'}})
        self.ok('DELETE', f'{self.path}/RBD:x')
        self.ok('PUT', self.path, {'metadata': {}})


@ddt.ddt
class RetypedVolumeTest(base.ApiTestCase):
    def snapshot_of(self, **volume: Any) -> str:
        return self.snapshot(self.volume(**volume))

    @ddt.data(('retyping', _REPLACED), ('reverting', base.MADE))
    @ddt.unpack
    def test_snapshot_of_a_volume_whose_image_is_replaced(
        self, status: str, made: dict[str, str]
    ) -> None:
        snapshot = self.snapshot_of(status=status, made=made)
        path = f'/snapshots/{snapshot}'
        text = f'The volume of snapshot {snapshot} is being re'
        self.refused(400, text, 'DELETE', path)
        for action in ('os-force_delete', 'os-unmanage'):
            body: Any = {action: {}}
            self.refused(
                400, text, 'POST', f'{path}/action', body, app=self.admin
            )
        for more in (
            {},
            {'volume_type': 'rbd'},
            {'volume_type': 'striped'},
            {'metadata': {'rbd:object_map': 'true'}},
        ):
            body = {'volume': {'snapshot_id': snapshot, 'size': 1, **more}}
            self.refused(400, text, 'POST', '/volumes', body)

    def test_retype_that_begins_while_the_scheduler_is_asked(self) -> None:
        volume = self.volume()
        pools = self.get_pools.return_value

        def begin(*args: Any, **kwargs: Any) -> Any:
            db.volume_admin_metadata_update(
                self.admin_context, volume.id, _REPLACED, False
            )
            db.volume_update(
                self.admin_context, volume.id, {'status': 'retyping'}
            )
            return pools

        self.get_pools.side_effect = begin
        body = {'snapshot_id': self.snapshot(volume), 'size': 1}
        metadata = {'metadata': {'rbd:object_map': 'true'}}
        self.refused(
            *(400, 'is being retyped', 'POST', '/volumes'),
            {'volume': {**body, **metadata}},
        )

    def test_snapshot_of_a_volume_that_is_retyped_in_place(self) -> None:
        snapshot = self.snapshot_of(status='retyping')
        self.ok('DELETE', f'/snapshots/{snapshot}')

    def test_snapshot_of_a_volume_that_another_driver_reverts(self) -> None:
        snapshot = self.snapshot_of(status='reverting')
        self.ok('DELETE', f'/snapshots/{snapshot}')

    def test_snapshot_of_a_volume_after_its_retype(self) -> None:
        snapshot = self.snapshot_of(made=_REPLACED)
        self.ok('DELETE', f'/snapshots/{snapshot}')

    def test_unknown_snapshot_is_left_to_cinder(self) -> None:
        self.refused(404, 'could not be found', 'DELETE', '/snapshots/x')
