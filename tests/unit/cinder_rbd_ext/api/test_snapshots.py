# SPDX-License-Identifier: Apache-2.0

"""Unit tests of cinder_rbd_ext.api.snapshots."""

from typing import Any

from cinder.tests.unit import utils

from tests.unit.cinder_rbd_ext.api import base

_WORDS = 'not allowed in snapshot metadata'


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

    def test_another_project(self) -> None:
        body = {'metadata': {'rbd:object_size': '1M'}}
        self.refused(404, self.id, 'POST', self.path, body, app=self.stranger)

    def test_malformed_body_gets_stock_refusal(self) -> None:
        bodies: Any = ([], {}, {'metadata': None}, {'metadata': []})
        for body in bodies:
            for method in ('POST', 'PUT'):
                response = self.call(method, self.path, body)
                self.assertEqual(400, response.status_int, response.text)
        bodies = ([], {}, {'snapshot': None}, {'snapshot': {'metadata': []}})
        for body in bodies:
            response = self.call('POST', '/snapshots', body)
            self.assertEqual(400, response.status_int, response.text)
