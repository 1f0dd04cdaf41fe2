#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.audit.records."""

import types
from typing import Any
from unittest import mock

from cinder_rbd_ext.audit import records
from tests.unit import base
from tests.unit.cinder_rbd_ext.audit import facts


class _Cinder:
    """Cinder's lists, in pages of two."""

    def __init__(self, volumes: list[dict[str, Any]]) -> None:
        self.volumes = volumes
        self.paths: list[str] = []

    def get(self, path: str, **kwargs: Any) -> Any:
        self.paths.append(path)
        body: dict[str, Any]
        if path.startswith('/volumes'):
            marker = path.partition('marker=')[2]
            idents = [each['id'] for each in self.volumes]
            start = idents.index(marker) + 1 if marker else 0
            body = {'volumes': self.volumes[start : start + 2]}
        elif path.startswith('/scheduler-stats'):
            reports = {
                'h@rbd#rbd': 'ceph:/etc/ceph/ceph.conf:fsid:cinder:volumes',
                'h@lvm#lvm': 'LVMVolumeDriver:h:vg:thin:0',
                'h@none#none': None,
            }
            body = {
                'pools': [
                    {'name': name, 'capabilities': {'location_info': where}}
                    for name, where in reports.items()
                ]
            }
        else:
            kind = path.split('/')[1]
            body = {kind: [{'id': f'one of {kind}'}]}
        return types.SimpleNamespace(
            json=lambda: body, raise_for_status=lambda: None
        )


class RecordsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(records, '_PAGE', 2)
        patch.start()
        self.addCleanup(patch.stop)

    def read(self, *volumes: dict[str, Any]) -> records.Records:
        self.cinder = _Cinder(list(volumes))
        one = types.SimpleNamespace(id=facts.OTHER)
        return records.of_cloud(
            types.SimpleNamespace(
                block_storage=self.cinder,
                image=types.SimpleNamespace(images=lambda limit: [one]),
                compute=types.SimpleNamespace(
                    servers=lambda all_projects: [one]
                ),
            )
        )

    def test_pages_and_other_services(self) -> None:
        volumes = [{'id': str(n), 'status': 'available'} for n in range(5)]
        found = self.read(*volumes)
        self.assertEqual(set('01234'), set(found.volumes))
        pages = [p for p in self.cinder.paths if p.startswith('/volumes')]
        self.assertEqual(3, len(pages))
        self.assertTrue(all('all_tenants=1' in page for page in pages))
        self.assertEqual({'one of snapshots'}, found.snapshots)
        self.assertEqual({'one of backups'}, found.backups)
        self.assertEqual({facts.OTHER}, found.images)
        self.assertEqual({facts.OTHER}, found.servers)
        self.assertEqual({'h@rbd#rbd': 'volumes'}, found.backends)

    def test_volume(self) -> None:
        body = {
            'id': facts.IDENT,
            'status': 'in-use',
            'multiattach': True,
            'migration_status': 'migrating',
            'os-vol-mig-status-attr:name_id': facts.OTHER,
            'os-rbd-volume-options:object_size': 2**20,
            'os-rbd-volume-options:data_pool': None,
        }
        (volume,) = self.read(body).volumes.values()
        self.assertEqual(f'volume-{facts.OTHER}', volume.image_name)
        self.assertEqual({'object_size': 2**20}, volume.made)
        self.assertTrue(volume.multiattach)
        self.assertTrue(volume.migrating)

    def test_migration_that_ended(self) -> None:
        for status in (None, 'none', 'success', 'error'):
            body = {'id': '1', 'status': 'error', 'migration_status': status}
            (volume,) = self.read(body).volumes.values()
            self.assertFalse(volume.migrating)
            self.assertFalse(volume.must_have_image)
