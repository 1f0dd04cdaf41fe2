# SPDX-License-Identifier: Apache-2.0

from importlib import metadata
import pathlib

from cinder.volume.drivers import rbd as stock
import ddt
import fixtures

from cinder_rbd_ext import driver
from cinder_rbd_ext.api import extension
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import pools
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts

_S = findings.Severity


def _path(cls: type) -> str:
    return f'{cls.__module__}.{cls.__name__}'


@ddt.ddt
class CinderPartsTest(base.TestCase):
    def check(self, **replaced: str) -> list[tuple[str, findings.Severity]]:
        folder = self.useFixture(fixtures.TempDir()).path
        self.conf = hosts.conf(folder, hosts.CINDER, **replaced)
        checked = list(cinder_parts.check(self.conf, 20))
        self.assertNotIn('secret', str(checked))
        return hosts.problems(checked)

    def test_class_names_are_those_of_the_code(self) -> None:
        self.assertEqual(cinder_parts.OURS, _path(driver.RBDExtDriver))
        self.assertEqual(cinder_parts.STOCK, _path(stock.RBDDriver))
        self.assertEqual(
            cinder_parts.EXTENSION, _path(extension.RBDVolumeOptions)
        )

    def test_healthy_configuration_has_no_problem(self) -> None:
        self.assertEqual([], self.check())
        (access,) = cinder_parts.accesses(self.conf, {'fast': {'types'}})
        self.assertEqual(
            pools.Access(
                'Cinder [ceph]',
                '/etc/ceph/ceph.conf',
                'cinder',
                ('volumes', 'data', 'types'),
            ),
            access,
        )

    def test_options_of_all_back_ends_apply_to_each(self) -> None:
        """Cinder falls back to this section for each option."""
        text = (
            '[DEFAULT]\nenabled_backends = ceph\n[ceph]\n'
            f'[backend_defaults]\nvolume_driver = {cinder_parts.OURS}\n'
            'rbd_user = cinder\nrbd_pool = volumes\nrbd_secret_uuid = key\n'
        )
        folder = self.useFixture(fixtures.TempDir()).path
        conf = hosts.conf(folder, text)
        (access,) = cinder_parts.accesses(conf, {})
        self.assertEqual(('cinder', ('volumes',)), (access.user, access.pools))
        problems = hosts.problems(cinder_parts.check(conf, 20))
        self.assertIn(('Cinder [ceph] rbd_secret_uuid', _S.ERROR), problems)
        self.assertNotIn(('Cinder back ends', _S.WARNING), problems)

    @ddt.data(
        (
            {'enabled_backends': 'enabled_backends = lvm'},
            ('Cinder back ends', _S.WARNING),
        ),
        (
            {'rbd_pool': 'rados_connect_timeout = x'},
            ('Cinder [ceph] rados_connect_timeout', _S.ERROR),
        ),
    )
    @ddt.unpack
    def test_problems_name_section_and_option(
        self, replaced: dict[str, str], expected: tuple[str, _S]
    ) -> None:
        self.assertEqual([expected], self.check(**replaced))

    @ddt.data('-1', '0', '21')
    def test_unusual_timeouts_are_accepted(self, seconds: str) -> None:
        line = f'rados_connect_timeout = {seconds}'
        self.assertEqual([], self.check(rbd_pool=line))


class RestoresTest(base.TestCase):
    """Bug 2155612 of Cinder: restores that skip zeros."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.driver = hosts.faulty_backup_driver(self.folder)

    def check(
        self,
        encrypted: list[str] | None,
        driver: str = 'ceph.CephBackupDriver',
    ) -> list[findings.Finding]:
        backups = f'[DEFAULT]\nbackup_driver = cinder.backup.drivers.{driver}'
        conf = hosts.conf(self.folder, backups)
        cinder = pathlib.Path(self.folder)
        return list(cinder_parts.check_restores(conf, cinder, encrypted))

    def test_faulty_driver_is_a_warning_with_encrypted_types(self) -> None:
        (warning,) = self.check(['luks'])
        self.assertEqual(_S.WARNING, warning.severity)
        self.assertIn('luks', warning.seen)
        (warning,) = self.check(None)
        self.assertIn('not asked', warning.seen)
        self.assertEqual([], self.check([]))
        self.assertEqual([], self.check(['luks'], 'nfs.NFSBackupDriver'))
        corrected = 'dest.seek(len(data), os.SEEK_CUR)\n' + ' ' * 16 + 'action'
        faulty = self.driver.read_text()
        self.driver.write_text(faulty.replace('action', corrected))
        self.assertEqual([], self.check(['luks']))
        self.driver.unlink()
        self.assertEqual([], self.check(['luks']))

    def test_installed_driver_is_recognized_by_its_lines(self) -> None:
        cinder = cinder_parts.installed() or pathlib.Path()
        source = cinder / 'backup/drivers/ceph.py'
        self.driver.write_bytes(source.read_bytes())
        faulty = int(metadata.version('cinder').partition('.')[0]) < 29
        self.assertEqual(faulty, bool(self.check(['luks'])))
        self.driver.write_text(
            self.driver.read_text().replace('dest.seek(len(data)', '')
        )
        self.assertTrue(self.check(['luks']))
