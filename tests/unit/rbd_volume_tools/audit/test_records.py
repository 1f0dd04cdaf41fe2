# SPDX-License-Identifier: Apache-2.0

import json
import types
from typing import Any
from unittest import mock

import requests

from rbd_volume_options import ownership
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts


class _Cinder:
    """Cinder's lists, in pages of two."""

    def __init__(self, volumes: list[dict[str, Any]], most: int = 2) -> None:
        self.volumes = volumes
        self.most = most
        self.paths: list[str] = []

    def get(self, path: str, microversion: str) -> Any:
        self.paths.append(path)
        body: dict[str, Any]
        if path.startswith('/volumes'):
            marker = path.partition('marker=')[2]
            idents = [each['id'] for each in self.volumes]
            start = idents.index(marker) + 1 if marker else 0
            body = {'volumes': self.volumes[start : start + self.most]}
            if float(microversion) < 3.61:
                body['volumes'] = [_plain(each) for each in body['volumes']]
            if len(body['volumes']) == self.most:
                body['volumes_links'] = [{'rel': 'next'}]
        elif path.startswith('/scheduler-stats'):
            reports = {
                'h@rbd#rbd': 'ceph:/etc/ceph/ceph.conf:fsid:cinder:volumes',
                'h@lvm#lvm': 'LVMVolumeDriver:h:vg:thin:0',
                'h@none#none': None,
            }
            protocols = {'h@lvm#lvm': 'iSCSI', 'h@none#none': 'ceph'}
            body = {
                'pools': [
                    {
                        'name': name,
                        'capabilities': {
                            'location_info': where,
                            'storage_protocol': protocols.get(name),
                        },
                    }
                    for name, where in reports.items()
                ]
            }
            # The same name in another cluster.
            other = 'ceph:/etc/ceph/b.conf:other:cinder:volumes'
            body['pools'].append(
                {'name': 'h@b#b', 'capabilities': {'location_info': other}}
            )
            # A back end with a data pool.
            location = 'ceph:/etc/ceph/ceph.conf:fsid:cinder:fast'
            body['pools'].append(
                {
                    'name': 'h@fast#fast',
                    'capabilities': {
                        'location_info': None,
                        'rbd_location_info': location,
                        'rbd_volume_options': True,
                    },
                }
            )
        elif path.startswith('/types'):
            # osapi_max_limit is 1.
            fast = {'name': 'fast', 'extra_specs': {'rbd:features': 'a'}}
            body = {
                'volume_types': [{'id': '1', **fast}],
                'volume_type_links': [{'rel': 'next'}],
            }
            if path.endswith('marker=1'):
                body = {'volume_types': [{'id': '2', 'name': 'hidden'}]}
        else:
            kind = path.split('/')[1]
            one = {'id': f'one of {kind}', 'volume_id': 'its volume'}
            body = {kind: [{**one, 'status': 'available'}]}
            if kind == 'snapshots':
                body[kind].append({**one, 'id': 'new', 'status': 'creating'})
                del body[kind][self.most :]
                seen = 'marker=' in path
                body[kind] = [] if seen else body[kind]
        return types.SimpleNamespace(
            json=lambda: body, raise_for_status=lambda: None
        )


def _plain(volume: dict[str, Any]) -> dict[str, Any]:
    """As earlier microversions show it."""
    return {k: v for k, v in volume.items() if k != 'cluster_name'}


def _response(status: int) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = b'{}'
    return made


def _images(
    limit: int, visibility: str = '', is_hidden: bool = False
) -> list[Any]:
    """Glance's list for an administrator."""
    rows = [
        ('shared', False, 'fsid'),
        ('community', False, 'other'),
        ('shared', True, 'fsid'),
    ]
    return [
        types.SimpleNamespace(
            id=str(n),
            direct_url=f'rbd://{cluster}/images/{n}/snap',
            locations=None,
            status='saving' if hidden else 'active',
        )
        for n, (seen_by, hidden, cluster) in enumerate(rows)
        if hidden is is_hidden
        and (seen_by != 'community' or visibility == 'all')
    ]


def _servers(
    all_projects: bool, status: str = '', is_soft_deleted: bool = False
) -> list[Any]:
    """Nova's list; ``soft_deleted`` alone adds them to the others."""
    states = {'a': 'ACTIVE'}
    if is_soft_deleted:
        states['b'] = 'SOFT_DELETED'
    return [
        types.SimpleNamespace(id=ident)
        for ident, state in states.items()
        if status in ('', state)
    ]


class RecordsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(records, '_PAGE', 2)
        patch.start()
        self.addCleanup(patch.stop)

    def read(self, *volumes: dict[str, Any]) -> records.Records:
        self.cinder = _Cinder(list(volumes))
        return records.of_cloud(
            types.SimpleNamespace(
                block_storage=self.cinder,
                image=types.SimpleNamespace(images=_images),
                compute=types.SimpleNamespace(servers=_servers),
            ),
            'fsid',
        )

    def test_pages_and_other_services(self) -> None:
        volumes: list[dict[str, Any]] = [
            {'id': str(n), 'status': 'available'} for n in range(5)
        ]
        known = self.read(*volumes)
        self.assertEqual(set('01234'), set(known.volumes))
        pages = [p for p in self.cinder.paths if p.startswith('/volumes')]
        self.assertEqual(3, len(pages))
        self.assertTrue(all('all_tenants=1' in page for page in pages))
        self.assertEqual({'one of snapshots', 'new'}, known.snapshots)
        self.assertEqual({'its volume': ['one of snapshots']}, known.available)
        self.assertEqual({'2': 'saving'}, known.incomplete)
        self.assertEqual({'one of backups'}, known.backups)
        self.assertEqual(set('012'), known.images)
        self.assertEqual(set('ab'), known.servers)
        self.assertEqual(
            {'0': frozenset({'images'}), '2': frozenset({'images'})},
            known.located,
        )
        self.assertEqual({'h@fast#fast'}, known.marking)
        self.assertEqual({'h@lvm#lvm', 'h@b#b'}, known.elsewhere)
        self.assertEqual(
            {'h@rbd#rbd': 'volumes', 'h@fast#fast': 'fast'}, known.backends
        )
        self.assertEqual(
            {'fast': {'rbd:features': 'a'}, 'hidden': {}}, known.types
        )

    def test_only_a_url_of_this_cluster_locates_an_image(self) -> None:
        for url, pools in (
            ('rbd://fsid/images/1/snap', {'images'}),
            ('rbd://fsid/a%2Fb/1/snap', {'a/b'}),
            ('rbd://other/images/1/snap', set()),
            ('rbd://fsid/images/2/snap', set()),
            ('rbd://1', set()),
            ('file:///fsid/images/1', set()),
        ):
            self.assertEqual(
                pools, records.pools_of_image([url], 'fsid', '1'), url
            )

    def test_limit_of_cinder(self) -> None:
        """osapi_max_limit may be smaller than a page."""
        volumes = [{'id': str(n), 'status': 'available'} for n in range(3)]
        with mock.patch.object(records, '_PAGE', 1000):
            cinder = _Cinder(volumes, most=1)
            idents = [each.ident for each in records.volumes(cinder)]
        self.assertEqual(['0', '1', '2'], idents)

    def test_has_record(self) -> None:
        requested: list[str] = []
        status = 404

        def get(path: str, **kwargs: Any) -> Any:
            requested.append(path)
            if path == '/servers/1':
                # A server of a cell that does not respond is there.
                self.assertEqual({'microversion': '2.69'}, kwargs)
            return _response(status)

        service = types.SimpleNamespace(get=get)
        cloud = types.SimpleNamespace(
            block_storage=service, image=service, compute=service
        )
        paths = {
            names.Owner.BACKUP: '/backups/1',
            names.Owner.GLANCE_IMAGE: '/images/1',
            names.Owner.SERVER_DISK: '/servers/1',
        }
        now = records.CloudNow(cloud)
        for owner in paths:
            self.assertFalse(now.has_record(owner, '1'))
        self.assertEqual(list(paths.values()), requested)
        self.assertIsNone(now.volume('1'))
        self.assertIsNone(now.server_deleted('1'))
        status = 200
        self.assertTrue(now.has_record(owner, '1'))
        status = 503
        self.assertRaises(requests.HTTPError, now.has_record, owner, '1')

    def test_deleted_server_is_that_with_the_id(self) -> None:
        def body(ident: str, status: str) -> Any:
            server = {
                'id': ident,
                'status': status,
                'updated': '2026-01-02T03:04:05Z',
            }
            made = _response(200)
            made._content = json.dumps({'servers': [server]}).encode()
            compute = types.SimpleNamespace(get=lambda path: made)
            cloud = types.SimpleNamespace(compute=compute)
            return records.CloudNow(cloud).server_deleted('1')

        self.assertEqual(2026, body('1', 'DELETED').year)
        self.assertIsNone(body('2', 'DELETED'))
        self.assertIsNone(body('1', 'ACTIVE'))

    def test_cloud_has_one_id(self) -> None:
        reports = [
            {ownership.CLOUD_ID: ident} for ident in (None, 'one', 'one')
        ]
        self.assertEqual('one', records._cloud_id(reports))
        self.assertEqual('', records._cloud_id(reports[:1]))
        reports.append({ownership.CLOUD_ID: 'two'})
        error = self.assertRaises(ValueError, records._cloud_id, reports)
        self.assertIn('one, two', str(error))

    def test_volume_is_read_from_the_api(self) -> None:
        body = {
            'id': facts.IDENT,
            'status': 'in-use',
            'multiattach': True,
            'migration_status': 'migrating',
            'os-vol-mig-status-attr:name_id': facts.OTHER,
            'os-rbd-volume-options:object_size': 2**20,
            'os-rbd-volume-options:data_pool': None,
            'metadata': {'rbd:object_map': 'true'},
        }
        (volume,) = self.read(body).volumes.values()
        self.assertEqual(f'volume-{facts.OTHER}', volume.image_name)
        self.assertEqual(
            {'os-rbd-volume-options:object_size': 2**20}, volume.made
        )
        self.assertTrue(volume.multiattach)
        self.assertTrue(volume.migrating)
        self.assertEqual({'rbd:object_map': 'true'}, volume.metadata)

    def test_volume_of_a_cluster_is_in_the_pool_of_the_cluster(self) -> None:
        """The scheduler names the pools of a cluster by it."""
        body = {
            'id': facts.IDENT,
            'status': 'available',
            'os-vol-host-attr:host': 'h@fast#fast',
            'cluster_name': 'c@fast#fast',
        }
        (volume,) = self.read(body).volumes.values()
        self.assertEqual('c@fast#fast', volume.pool)

        def get(path: str, microversion: str) -> Any:
            made = _response(200)
            old = float(microversion) < 3.61
            volume = _plain(body) if old else body
            made._content = json.dumps({'volume': volume}).encode()
            return made

        storage = types.SimpleNamespace(get=get)
        now = records.CloudNow(types.SimpleNamespace(block_storage=storage))
        shown = now.volume(facts.IDENT)
        self.assertEqual('c@fast#fast', shown and shown.pool)
        body['cluster_name'] = ''
        (volume,) = self.read(body).volumes.values()
        self.assertEqual('h@fast#fast', volume.pool)

    def test_migration_that_ended(self) -> None:
        for status in (None, 'none', 'success', 'error'):
            body = {'id': '1', 'status': 'error', 'migration_status': status}
            (volume,) = self.read(body).volumes.values()
            self.assertFalse(volume.migrating)
            self.assertFalse(volume.must_have_image)
