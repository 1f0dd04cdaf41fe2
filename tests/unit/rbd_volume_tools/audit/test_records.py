# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
import json
import types
from typing import Any

import requests

from rbd_volume_options import ownership
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts


def _rbd(fsid: str, pool: str, **more: Any) -> dict[str, Any]:
    location = f'ceph:/etc/ceph/ceph.conf:{fsid}:cinder:{pool}'
    return {'location_info': location, **more}


_REPORTS = {
    'h@rbd#rbd': _rbd('fsid', 'volumes'),
    # Of our driver, with a data pool.
    'h@fast#fast': {
        'location_info': None,
        'rbd_location_info': _rbd('fsid', 'fast')['location_info'],
        'rbd_volume_options': True,
    },
    # The same name in another cluster.
    'h@b#b': _rbd('other', 'volumes'),
    'h@lvm#lvm': {
        'location_info': 'LVMVolumeDriver:h:vg:thin:0',
        'storage_protocol': 'iSCSI',
    },
    'h@none#none': {'location_info': None, 'storage_protocol': 'ceph'},
}


class _Cinder:
    """Cinder's lists, in pages.

    :ivar most: osapi_max_limit
    """

    def __init__(self, volumes: Sequence[dict[str, Any]], most: int) -> None:
        one = {'volume_id': 'its volume', 'status': 'available'}
        self.most = most
        self.pages: list[str] = []
        self.lists: dict[str, Any] = {
            'volumes': volumes,
            'snapshots': [
                {**one, 'id': 'made'},
                {**one, 'id': 'new', 'status': 'creating'},
            ],
            'backups': [{**one, 'id': 'backup'}],
            'types': [
                {
                    'id': '1',
                    'name': 'fast',
                    'extra_specs': {'rbd:features': 'a'},
                },
                {'id': '2', 'name': 'hidden'},
            ],
        }

    def get(self, path: str, microversion: str) -> requests.Response:
        """Return a page, or a volume by its ID."""
        kind = path.split('/')[1].partition('?')[0]
        if kind == 'scheduler-stats':
            pools = [
                {'name': name, 'capabilities': report}
                for name, report in _REPORTS.items()
            ]
            return _response(200, {'pools': pools})
        listed = self.lists[kind]
        if kind == 'volumes' and float(microversion) < 3.61:
            # As earlier microversions show it.
            listed = [
                {k: v for k, v in each.items() if k != 'cluster_name'}
                for each in listed
            ]
        if path == f'/volumes/{facts.IDENT}':
            return _response(200, {'volume': listed[0]})
        self.pages.append(path)
        marker = path.partition('marker=')[2]
        idents = [each['id'] for each in listed]
        start = idents.index(marker) + 1 if marker else 0
        key = {'types': 'volume_types'}.get(kind, kind)
        body = {key: listed[start : start + self.most]}
        if len(body[key]) == self.most:
            body[f'{key}_links'] = [{'rel': 'next'}]
        return _response(200, body)


def _response(status: int, body: Any = None) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = json.dumps(body or {}).encode()
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
    def read(self, *volumes: dict[str, Any], most: int = 2) -> records.Records:
        self.cinder = _Cinder(volumes, most)
        return records.of_cloud(
            types.SimpleNamespace(
                block_storage=self.cinder,
                image=types.SimpleNamespace(images=_images),
                compute=types.SimpleNamespace(servers=_servers),
            ),
            'fsid',
        )

    def volume(self, **body: Any) -> records.Volume:
        """Return a volume as it is read from the list."""
        body = {'id': facts.IDENT, 'status': 'available', **body}
        (volume,) = self.read(body).volumes.values()
        return volume

    def test_lists_of_the_services(self) -> None:
        volumes = [{'id': str(n), 'status': 'available'} for n in range(5)]
        known = self.read(*volumes)
        self.assertEqual(set('01234'), set(known.volumes))
        self.assertEqual({'made', 'new'}, known.snapshots)
        self.assertEqual({'its volume': ['made']}, known.available)
        self.assertEqual({'2': 'saving'}, known.incomplete)
        self.assertEqual({'backup'}, known.backups)
        self.assertEqual({'its volume'}, known.backed_up)
        self.assertEqual(set('012'), known.images)
        self.assertEqual(set('ab'), known.servers)
        images = frozenset({'images'})
        self.assertEqual({'0': images, '2': images}, known.located)
        self.assertEqual({'h@fast#fast'}, known.marking)
        self.assertEqual({'h@lvm#lvm', 'h@b#b'}, known.elsewhere)
        self.assertEqual(
            {'h@rbd#rbd': 'volumes', 'h@fast#fast': 'fast'}, known.backends
        )
        self.assertEqual(
            {'fast': {'rbd:features': 'a'}, 'hidden': {}}, known.types
        )
        pages = [x for x in self.cinder.pages if x.startswith('/volumes')]
        self.assertEqual(3, len(pages))
        self.assertTrue(all('all_tenants=1' in page for page in pages))
        # osapi_max_limit may be any number.
        self.assertEqual(known, self.read(*volumes, most=1))

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
        for ident, status, is_known in (
            ('1', 'DELETED', True),
            ('2', 'DELETED', False),
            ('1', 'ACTIVE', False),
        ):
            server = {
                'id': ident,
                'status': status,
                'updated': '2026-01-02T03:04:05Z',
            }
            made = _response(200, {'servers': [server]})
            compute = types.SimpleNamespace(get=lambda path, made=made: made)
            now = records.CloudNow(types.SimpleNamespace(compute=compute))
            deleted = now.server_deleted('1')
            self.assertEqual(
                2026 if is_known else 0, getattr(deleted, 'year', 0)
            )

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
        made = {'os-rbd-volume-options:object_size': 2**20}
        metadata = {'rbd:object_map': 'true'}
        volume = self.volume(
            status='in-use',
            multiattach=True,
            migration_status='migrating',
            metadata=metadata,
            **made,
            **{
                'os-vol-mig-status-attr:name_id': facts.OTHER,
                'os-rbd-volume-options:data_pool': None,
            },
        )
        self.assertEqual(f'volume-{facts.OTHER}', volume.image_name)
        self.assertEqual((made, metadata), (volume.made, volume.metadata))
        self.assertTrue(volume.multiattach and volume.migrating)
        for status in (None, 'none', 'success', 'error'):
            ended = self.volume(status='error', migration_status=status)
            self.assertFalse(ended.migrating or ended.must_have_image)

    def test_volume_of_a_cluster_is_in_the_pool_of_the_cluster(self) -> None:
        """The scheduler names the pools of a cluster by it."""
        host = {'os-vol-host-attr:host': 'h@fast#fast'}
        for cluster, pool in (
            ('c@fast#fast', 'c@fast#fast'),
            ('', 'h@fast#fast'),
        ):
            volume = self.volume(cluster_name=cluster, **host)
            self.assertEqual(pool, volume.pool)
            now = records.CloudNow(
                types.SimpleNamespace(block_storage=self.cinder)
            )
            self.assertEqual(volume, now.volume(facts.IDENT))
