# SPDX-License-Identifier: Apache-2.0

import dataclasses
import errno
import pathlib
import types

import fixtures

from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import api_parts
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import compute_hosts
from rbd_volume_tools.doctor import pools
from rbd_volume_tools.doctor import run
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts
from tests.unit.rbd_volume_tools.doctor import test_other_parts
from tests.unit.rbd_volume_tools.doctor import test_pools
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_S = findings.Severity
_LIBRBD = 'ceph version 16.2.15 (618f) pacific (stable)'


class RunTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.ceph = test_pools.Ceph()
        self.host = run.Host(
            hosts.conf(self.folder, hosts.CINDER),
            root=pathlib.Path(self.folder),
        )
        self.programs = hosts.Programs(rbd=_LIBRBD)

    def found(self, **replaced: object) -> list[tuple[str, _S]]:
        values = {
            'clients': pools.Clients(self.ceph, self.ceph),
            'run': self.programs,
            **replaced,
        }
        host = dataclasses.replace(self.host, **values)  # type: ignore[arg-type]
        return hosts.problems(run.check(host))

    def test_controller_reports_missing_ceph_conf(self) -> None:
        self.assertEqual(
            [('/etc/ceph/ceph.conf as client.cinder', _S.WARNING)],
            self.found(),
        )

    def test_no_connection(self) -> None:
        self.ceph.fails['connect'] = errno.EACCES
        self.assertEqual(
            [('Cinder [ceph] as client.cinder', _S.ERROR)], self.found()
        )

    def test_no_libraries(self) -> None:
        self.assertEqual([('Ceph', _S.WARNING)], self.found(clients=None))

    def test_cloud_that_fails(self) -> None:
        def cloud() -> None:
            raise OSError('made to fail')

        problems = self.found(cloud=cloud)
        self.assertEqual(('APIs of the cloud', _S.WARNING), problems[0])

    def test_locations_of_glance_images_are_checked(self) -> None:
        conf = hosts.conf(
            self.folder,
            '[DEFAULT]\nenabled_backends = fast:rbd_objmap\n[fast]',
        )
        self.host = run.Host(glance=conf, root=pathlib.Path(self.folder))
        self.patch(api_parts, 'volume_types', lambda cinder: [])
        self.patch(api_parts, 'check', lambda cinder, types, nodes: [])
        self.patch(compute_hosts, 'check', lambda compute, cinder: [])
        cloud = types.SimpleNamespace(
            block_storage=None,
            compute=None,
            image=test_other_parts.Glance(
                {'id': 'lost', 'size': 1, 'status': 'active'}
            ),
        )
        self.assertIn(
            ('Glance images without a store', _S.WARNING),
            self.found(cloud=lambda: cloud),
        )

    def test_restores_are_checked_with_the_encrypted_types(self) -> None:
        hosts.faulty_backup_driver(self.folder)
        backups = 'backup_driver = cinder.backup.drivers.ceph.CephBackupDriver'
        conf = hosts.conf(self.folder, hosts.CINDER, transport_url=backups)
        self.host = run.Host(conf, root=pathlib.Path(self.folder))
        cinder = pathlib.Path(self.folder)
        self.patch(cinder_parts, 'installed', lambda: cinder)
        warning = ('Cinder backup_driver', _S.WARNING)
        self.assertIn(warning, self.found())
        service = fake_cloud.Service()
        service.answers['/types?is_public=None'] = {
            'volume_types': [{'id': '1', 'name': 'plain'}]
        }
        service.answers['/types/1/encryption'] = {}
        cloud = types.SimpleNamespace(block_storage=service)
        self.assertNotIn(warning, self.found(cloud=lambda: cloud))

    def test_compute_host(self) -> None:
        nova = hosts.conf(self.folder, hosts.NOVA)
        self.host = run.Host(nova=nova, root=pathlib.Path(self.folder))
        severities = dict(self.found())
        self.assertEqual(_S.WARNING, severities['Nova plug-in'])
        self.assertEqual(_S.NOTICE, severities['QEMU'])

    def test_program_returns_status_and_output(self) -> None:
        self.assertEqual((0, 'a\n', ''), run.program(['echo', 'a']))
        self.assertRaises(OSError, run.program, ['/none'])
