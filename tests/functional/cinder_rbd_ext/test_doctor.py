# SPDX-License-Identifier: Apache-2.0

"""Functional tests of rbd_volume_tools.doctor on a Ceph cluster."""

from collections.abc import Mapping
import json
import pathlib

import ddt
import fixtures
import rados
import rbd
import testtools

from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import pools
from rbd_volume_tools.doctor import run
from tests.functional import ceph

_USER = 'doctor'
_CAPS = {
    'mon': 'profile rbd',
    'osd': 'profile rbd pool=volumes, profile rbd pool=volumes-data, '
    'profile rbd pool=images, profile rbd pool=volumes2',
}
_SECRET = '6f9b1c52-5a0e-4b7e-9d9c-1f1f0a3e7b11'
#: Configuration files of a host without a fault.
_FILES = {
    'cinder': f"""
[DEFAULT]
enabled_backends = fast, lvm
osapi_volume_extension = cinder.api.contrib.standard_extensions
osapi_volume_extension = cinder_rbd_ext.api.extension.RBDVolumeOptions
backup_driver = cinder.backup.drivers.ceph.CephBackupDriver
backup_ceph_conf = CONF
backup_ceph_user = {_USER}
backup_ceph_pool = volumes2
[fast]
volume_driver = cinder_rbd_ext.driver.RBDExtDriver
rbd_ceph_conf = CONF
rbd_user = {_USER}
rbd_pool = volumes
rbd_volume_data_pool = volumes-data
rbd_secret_uuid = {_SECRET}
rbd_tenant_options = rbd:stripe_unit,rbd:stripe_count
rbd_allowed_cache_modes = none,writeback
[lvm]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
[oslo_policy]
policy_file = policy.yaml
""",
    'glance': f"""
[DEFAULT]
enabled_backends = rbd:rbd_objmap
[rbd]
rbd_store_ceph_conf = CONF
rbd_store_user = {_USER}
rbd_store_pool = images
rbd_store_object_map = true
""",
    'nova': f"""
[libvirt]
rbd_secret_uuid = {_SECRET}
disk_cachemodes = "file=none"
hw_machine_type = x86_64=q35
[rbd_cache]
allowed_modes = none,writeback
disk_iothread = true
""",
    'ceph': '[client]',
}
_VIRSH = f' UUID   Usage\n-----\n {_SECRET}   ceph client.{_USER} secret\n'
_OUTPUTS = {
    'rbd': 'ceph version 16.2.15 (618f) pacific (stable)',
    'nova-rbd-cache': '[]',
    'qemu-system-x86_64': 'QEMU emulator version 7.2.0',
    'libvirtd': 'libvirtd (libvirt) 9.0.0',
    'virsh': _VIRSH,
}
_ERROR, _WARNING = findings.Severity.ERROR, findings.Severity.WARNING
_NOTICE = findings.Severity.NOTICE

#: Faults: what they are, the file, the line that is replaced (or appended, if
#: it is the section's), its replacement, and the finding: severity, a part of
#: its subject and what it saw, and a part of what to do.
_FAULTS = (
    (
        'user of backups',
        *('cinder', f'backup_ceph_user = {_USER}', 'backup_ceph_user = none'),
        *(_ERROR, 'backup_ceph_user as client.none', 'no keyring of client.'),
    ),
    (
        'key for tenants',
        *('cinder', 'rbd:stripe_unit,', 'rbd:strip_unit,'),
        *(_ERROR, 'rbd:strip_unit', 'Correct the value'),
    ),
    (
        'cache mode',
        *('cinder', 'modes = none,writeback', 'modes = none,writebck'),
        *(_ERROR, 'writebck', 'Correct the'),
    ),
    (
        'secret that libvirt does not have',
        *('cinder', _SECRET, _SECRET.replace('6', '7')),
        *(_ERROR, 'rbd_secret_uuid: libvirt on this host', 'virsh secret-'),
    ),
    (
        'secret that is no UUID',
        *('cinder', _SECRET, 'secret'),
        *(_ERROR, 'rbd_secret_uuid: the value is not a UUID', 'virsh secret-'),
    ),
    (
        'back end without a section',
        *('cinder', 'enabled_backends = fast', 'enabled_backends = fsat,fast'),
        *(_ERROR, 'no section [fsat]', 'such as fast'),
    ),
    (
        'policy file',
        *('cinder', 'policy.yaml', 'policies.yaml'),
        *(_ERROR, 'there is no policies.yaml', 'default policies apply'),
    ),
    (
        'modes that the host does not offer',
        *('nova', 'modes = none,writeback', 'modes = none'),
        *(_WARNING, 'does not offer writeback', 'require the traits'),
    ),
    (
        'spelling of an option of Cinder',
        *('cinder', 'rbd_tenant_options', 'rbd_tenants_option'),
        *(_WARNING, 'rbd_tenants_option: unknown', 'to rbd_tenant_options'),
    ),
    (
        'spelling of an option of Glance',
        *('glance', 'rbd_store_object_map', 'rbd_store_objectmap'),
        *(_WARNING, 'rbd_store_objectmap: unknown', 'rbd_store_object_map'),
    ),
    (
        'spelling of an option of Nova',
        *('nova', 'disk_iothread = true\n', 'disk_iothread = true\nqueue=1\n'),
        *(_WARNING, '[rbd_cache] queue: unknown', 'Options: allowed_modes'),
    ),
    (
        'spelling of the section of Nova',
        *('nova', '[rbd_cache]', '[rbd_cache]\n[rbd-cache]'),
        *(_WARNING, '[rbd-cache]: unknown section', 'to [rbd_cache]'),
    ),
    (
        'section of an option',
        *('cinder', '[DEFAULT]', '[DEFAULT]\nrbd_min_object_size = 1M'),
        *(_WARNING, '[DEFAULT] rbd_min_object_size: has no', 'Move it to'),
    ),
    (
        'cache of Ceph',
        *('ceph', '[client]', '[client]\nrbd_cache = false'),
        *(_NOTICE, 'rbd_cache = false', 'Remove the option'),
    ),
    (
        'default features of Ceph',
        *('ceph', '[client]', '[client]\nrbd_default_features = 1'),
        *(_WARNING, 'rbd_default_features = ', 'no exclusive lock'),
    ),
    (
        'cache mode of all volumes',
        *('nova', '"file=none"', '"network=writeback"'),
        *(_NOTICE, 'network=writeback', 'set rbd:cache_mode in the volume'),
    ),
    (
        'unsafe cache mode of all volumes',
        *('nova', '"file=none"', '"network=unsafe"'),
        *(_ERROR, 'network=unsafe', 'Use writeback'),
    ),
    (
        'stock driver',
        'cinder',
        'cinder_rbd_ext.driver.RBDExtDriver',
        'cinder.volume.drivers.rbd.RBDDriver',
        *(_WARNING, '[fast] driver: cinder.volume', 'Set volume_driver'),
    ),
    (
        'API extension',
        *('cinder', 'cinder_rbd_ext.api.extension.', 'other.'),
        *(_WARNING, 'API extension', 'osapi_volume_extension'),
    ),
    (
        'extensions of Cinder',
        'cinder',
        'osapi_volume_extension = cinder.api.contrib.standard_extensions\n',
        '',
        *(_ERROR, 'API extension', 'standard_extensions too'),
    ),
    (
        'pool that does not exist',
        *('cinder', 'rbd_pool = volumes', 'rbd_pool = volume'),
        *(_ERROR, 'pool volume as client.', 'Create the pool volume'),
    ),
    (
        'store without a section',
        *('glance', '[rbd]', '[rdb]'),
        *(_ERROR, 'no section [rbd]', 'such as rdb'),
    ),
    (
        'timeout of Cinder',
        *('cinder', '[fast]', '[fast]\nrados_connect_timeout = 5'),
        *(_WARNING, 'rados_connect_timeout', 'Set more than osd_heartbeat'),
    ),
    (
        'timeout of Ceph',
        *('ceph', '[client]', '[client]\nrados_osd_op_timeout = 15'),
        *(_WARNING, 'rados_osd_op_timeout = 15', 'Requests of guests fail'),
    ),
    (
        'cache policy of Ceph',
        *('ceph', '[client]', '[client]\nrbd_cache_max_dirty = 0'),
        *(_WARNING, 'rbd_cache_max_dirty = 0', 'as slow as'),
    ),
    (
        'encryption of Ceph',
        *('ceph', '[client]', '[client]\nms_client_mode = secure'),
        *(_NOTICE, 'ms_client_mode = secure', 'Use crc'),
    ),
    (
        'expiry of the blocklist',
        *('ceph', '[client]', '[client]\nrbd_blocklist_expire_seconds = 60'),
        *(_WARNING, 'rbd_blocklist_expire_seconds = 60', 'can write'),
    ),
    (
        'locks that are broken without the blocklist',
        *('ceph', '[client]', '[client]\nrbd_blocklist_on_break_lock = false'),
        *(_WARNING, 'rbd_blocklist_on_break_lock = false', 'can write'),
    ),
)


def _words(caps: Mapping[str, str]) -> list[str]:
    return [word for pair in caps.items() for word in pair]


class Programs:
    """Programs of a compute host that this machine may not have.

    :param key: the key in the secret of libvirt
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, command: list[str]) -> tuple[int, str, str]:
        """Return the output of a program."""
        if 'secret-get-value' in command:
            return 0, f'{self._key}\n', ''
        if command[0] not in _OUTPUTS:
            raise FileNotFoundError(command[0])
        return 0, _OUTPUTS[command[0]], ''


@ddt.ddt
class DoctorTest(testtools.TestCase):
    """A host with the files of Cinder, Glance, Nova and Ceph."""

    cluster: ceph.SharedCluster
    conf: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster = ceph.shared_cluster()
        made = cls.cluster.user(_USER, *_words(_CAPS))
        cls.conf = made.__enter__()
        cls.addClassCleanup(made.__exit__, None, None, None)

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / 'policy.yaml').touch()
        # The release of Cinder decides whether there is a problem with this.
        self.patch(cinder_parts, 'installed', lambda: None)
        keyring = pathlib.Path(self.conf).with_name('keyring').read_text()
        self.key = keyring.split('key = ')[1].split()[0]

    def problems(
        self, file: str = '', before: str = '', after: str = ''
    ) -> list[findings.Finding]:
        """Return the problems on a host, one of whose files was changed."""
        texts = dict(_FILES)
        if file:
            self.assertIn(before, texts[file])
            texts[file] = texts[file].replace(before, after)
        conf = self.folder / 'ceph.conf'
        conf.write_text(
            f'{pathlib.Path(self.conf).read_text()}{texts["ceph"]}\n'
        )
        read = {}
        for name in ('cinder', 'glance', 'nova'):
            path = self.folder / f'{name}.conf'
            path.write_text(texts[name].replace('CONF', str(conf)))
            read[name] = configuration.Configuration([path])
        host = run.Host(
            *(read['cinder'], read['glance'], read['nova'], self.folder),
            clients=pools.Clients(rados, rbd),
            run=Programs(self.key),
        )
        checked = list(run.check(host))
        self.assertNotIn(self.key, str(checked))
        return [each for each in checked if each.severity is not None]

    def limit(self, **caps: str) -> None:
        """Change the capabilities of the user for the rest of a test."""
        change = ('auth', 'caps', f'client.{_USER}')
        command = self.cluster.daemons.command
        self.addCleanup(command, *change, *_words(_CAPS))
        command(*change, *_words({**_CAPS, **caps}))

    def objects(self, pool: str) -> list[str]:
        """Return the names of the objects that a check left behind."""
        listed = self.cluster.ioctx(pool).list_objects()
        return [each.key for each in listed if 'doctor' in each.key]

    def test_nothing_is_found_on_a_host_without_a_fault(self) -> None:
        self.assertEqual([], self.problems())
        for pool in ('volumes', 'volumes-data'):
            self.assertEqual([], self.objects(pool))

    def test_secret_with_the_key_of_another_user_is_found(self) -> None:
        command = self.cluster.daemons.command
        self.key = command('auth', 'get-key', 'client.admin').strip()
        self.assertEqual(
            [(_ERROR, 'Cinder [fast] rbd_secret_uuid')],
            [(each.severity, each.subject) for each in self.problems()],
        )

    @ddt.named_data(*_FAULTS)
    def test_fault_is_found_with_what_to_do(
        self,
        file: str,
        before: str,
        after: str,
        severity: findings.Severity,
        seen: str,
        remedy: str,
    ) -> None:
        shown = [
            (each.severity, f'{each.subject}: {each.seen}', each.remedy)
            for each in self.problems(file, before, after)
        ]
        matching = [
            each
            for each in shown
            if each[0] is severity and seen in each[1] and remedy in each[2]
        ]
        self.assertEqual(1, len(matching), json.dumps(shown, indent=1))

    def test_user_who_may_not_use_the_data_pool(self) -> None:
        self.limit(osd=_CAPS['osd'].replace('volumes-data', 'other'))
        (refused,) = self.problems()
        self.assertEqual(_ERROR, refused.severity)
        self.assertIn('pool volumes-data', refused.subject)
        self.assertIn('profile rbd pool=volumes-data', refused.remedy)

    def test_user_who_may_not_blocklist_dead_clients(self) -> None:
        before = self._blocklist()
        self.assertEqual([], self.problems())
        self.limit(mon='allow r')
        (refused,) = self.problems()
        self.assertEqual(_ERROR, refused.severity)
        self.assertIn('may not blocklist', refused.seen)
        self.assertIn("MON capability 'profile rbd'", refused.remedy)
        self.assertEqual(before, self._blocklist())

    def _blocklist(self) -> bytes:
        command = json.dumps({'prefix': 'osd blocklist ls', 'format': 'json'})
        _, out, _ = self.cluster.rados.mon_command(command, b'')
        listed: bytes = out
        return listed

    def test_override_of_a_pool(self) -> None:
        """The override takes precedence over QEMU's setting."""
        ioctx = self.cluster.ioctx()
        rbd.RBD().pool_metadata_set(ioctx, 'conf_rbd_cache', 'false')
        self.addCleanup(
            rbd.RBD().pool_metadata_remove, ioctx, 'conf_rbd_cache'
        )
        (finding,) = self.problems()
        self.assertEqual('rbd_cache = false', finding.seen)
        rbd.RBD().create(ioctx, 'override', 2**22)
        self.addCleanup(self.cluster.empty)
        qemu = rados.Rados(
            conffile=self.cluster.conf,
            rados_id='admin',
            conf={'rbd_cache': 'true'},
        )
        with qemu as client, client.open_ioctx('volumes') as opened:
            image = rbd.Image(opened, 'override')
            self.addCleanup(image.close)
            (value,) = (
                each['value']
                for each in image.config_list()
                if each['name'] == 'rbd_cache'
            )
            image.close()
        self.assertEqual('false', value)
