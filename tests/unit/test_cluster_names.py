# SPDX-License-Identifier: Apache-2.0

"""Operators' commands know the volumes of a cluster by Cinder's own names.

Services of a cluster (active-active) report one pool, which has the name of
the cluster. Cinder's scheduler names the pool, and Cinder's tables keep it.
"""

import datetime
import importlib
import json
import pathlib
import types
from typing import Any
from unittest import mock
import uuid

from cinder import context
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import test
import fixtures
import requests
import sqlalchemy

from rbd_volume_options import backend_settings
from rbd_volume_options import image_record
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import ownership
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import marks
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects as audit_objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import selection

_CLUSTER, _HOSTS = 'cluster@rbd', ('one@rbd', 'two@rbd')
_CLOUD = '2c9d7f4e-6a51-4d0c-9f43-0a5a3f1f8b11'
_REPORT = {
    'volume_backend_name': 'rbd',
    'location_info': 'ceph:/etc/ceph/ceph.conf:fsid:cinder:volumes',
    backend_settings.CAPABILITY: True,
    ownership.CLOUD_ID: _CLOUD,
    'free_capacity_gb': 1,
    'total_capacity_gb': 1,
}
_STATE = options.image_values(layout.ImageLayout(4 << 20), frozenset())
_CREATED = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def _scheduled() -> tuple[list[dict[str, Any]], str, str]:
    """Return the pools of Cinder's scheduler, and a volume's place.

    The place is the host and the cluster that the scheduler gives to a volume
    which it places with one of two services.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    # It needs Cinder's objects, which the base class has registered.
    module = importlib.import_module('cinder.scheduler.host_manager')
    manager = module.HostManager()
    services = [
        objects.Service(
            host=host,
            cluster_name=_CLUSTER,
            topic='cinder-volume',
            updated_at=now,
            availability_zone='nova',
            uuid=str(uuid.uuid4()),
        )
        for host in _HOSTS
    ]
    for host in _HOSTS:
        manager.update_service_capabilities(
            'volume', host, dict(_REPORT), _CLUSTER, now.replace(tzinfo=None)
        )
    with mock.patch.object(
        objects.ServiceList,
        'get_all',
        autospec=True,
        return_value=objects.ServiceList(objects=services),
    ):
        admin = context.get_admin_context()
        pools = [
            {**each, 'capabilities': dict(each['capabilities'])}
            for each in manager.get_pools(admin)
        ]
        (state,) = manager.get_all_backend_states(admin)
    return pools, state.host, state.cluster_name


class ClusterNamesTest(test.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pools, self.host, self.cluster_name = _scheduled()
        self.ident = str(uuid.uuid4())
        self.body = {
            'id': self.ident,
            'status': 'available',
            'os-vol-host-attr:host': self.host,
            'cluster_name': self.cluster_name,
        }
        self.cloud = types.SimpleNamespace(
            block_storage=types.SimpleNamespace(get=self.answered),
            image=types.SimpleNamespace(images=lambda **how: []),
            compute=types.SimpleNamespace(servers=lambda **how: []),
        )
        self.known = records.of_cloud(self.cloud, 'fsid')
        self.image = images.Image(
            'volumes',
            f'volume-{self.ident}',
            'abc',
            size=2**30,
            image_layout=layout.ImageLayout(4 * 2**20),
            image_features=frozenset(),
            map_state=images.MapState.NONE,
        )

    def answered(self, path: str, microversion: str = '') -> Any:
        """Answer as Cinder does."""
        body: Any = {f'{path.split("/")[1]}': []}
        if 'get_pools' in path:
            body = {'pools': self.pools}
        elif path.startswith('/volumes/detail'):
            body = {'volumes': [self.body]}
        elif path.startswith('/volumes/'):
            body = {'volume': self.body}
        elif path.startswith('/types'):
            body = {'volume_types': []}
        response = requests.Response()
        response.status_code = 200
        response._content = json.dumps(body, default=str).encode()
        return response

    def stored(self) -> databases.Databases:
        """Return a database of Cinder with the deleted volume."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        url = f'sqlite:///{folder}/cinder.sqlite'
        engine = sqlalchemy.create_engine(url)
        model = db.get_model_for_versioned_object(objects.Volume)
        tables = model.metadata
        tables.create_all(engine)
        with engine.begin() as connection:
            connection.execute(
                tables.tables['volumes'].insert(),
                {
                    'id': self.ident,
                    'host': self.host,
                    'cluster_name': self.cluster_name,
                    'provider_id': image_record.Record(
                        _STATE, backend=self.cluster_name.partition('#')[0]
                    ).text(self.ident),
                    'deleted': True,
                    'deleted_at': _CREATED.replace(tzinfo=None, year=2027),
                    'volume_type_id': str(uuid.uuid4()),
                },
            )
        path = folder / 'cinder.conf'
        path.write_text(f'[database]\nconnection = {url}\n')
        return databases.Databases(str(path))

    def test_image_of_a_volume_is_marked(self) -> None:
        scanned = scan.PoolScan('volumes', (self.image,), {}, ())
        unmarked = marks.unmarked(scanned, self.known, databases.Databases())
        self.assertEqual([self.image], list(unmarked))
        self.assertTrue(
            marks.is_still_ours(
                *('volumes', self.image.name),
                *(self.known, records.CloudNow(self.cloud)),
            )
        )

    def test_object_map_of_a_volume_can_be_enabled(self) -> None:
        (volume,) = self.known.volumes.values()
        target = selection.Target(self.image, volume)
        self.assertIsNone(decisions.obstacle_of_owner(target, self.known))

    def test_deleted_record_of_a_volume_is_a_proof(self) -> None:
        day = datetime.timedelta(days=1)
        cluster: Any = mock.Mock()
        sources = evidence.Sources(
            *(cluster, self.known, records.CloudNow(self.cloud)),
            *(self.stored(), day, day),
        )
        row = leftovers.TABLE[findings.ORPHAN_VOLUME]
        with mock.patch.object(
            *(audit_objects, 'directory'),
            autospec=True,
            return_value={self.image.name: 'abc'},
        ):
            owners = sources.owners_in(None, 'volumes')
        self.assertEqual({names.Owner.VOLUME}, owners)
        seen = evidence.Evidence(
            *(sources, row, None, 'volumes', self.image.name, 'abc')
        )
        self.assertTrue(seen.is_marking)
        self.assertIn('deleted record', seen.record.text)
