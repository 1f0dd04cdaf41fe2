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

"""The doctor on a real cluster."""

import pathlib

import fixtures
import rados
import rbd
import testtools

from rbd_command_line import findings
from rbd_operator.doctor import configuration
from rbd_operator.doctor import pools
from rbd_operator.doctor import run
from tests.functional import ceph

_CINDER = """
[DEFAULT]
enabled_backends = ceph
osapi_volume_extension = cinder.api.contrib.standard_extensions
osapi_volume_extension = cinder_rbd_ext.api.extension.RBDVolumeOptions
[ceph]
volume_driver = cinder_rbd_ext.driver.RBDExtDriver
rbd_ceph_conf = {conf}
rbd_user = {user}
rbd_pool = {pool}
rbd_volume_data_pool = {data}
"""
_LIMITED = 'doctor-limited'
_ONE_POOL = 'profile rbd pool=volumes'


class DoctorTest(testtools.TestCase):
    """Access to pools, and options of Ceph."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def conf(self, options: str) -> str:
        """Return a copy of ceph.conf with more options."""
        path = self.folder / 'ceph.conf'
        text = pathlib.Path(self.cluster.conf).read_text()
        path.write_text(f'{text}\n{options}\n')
        return str(path)

    def user(self, *caps: str) -> str:
        """Create a Ceph user and return its ceph.conf."""
        made = self.cluster.user(_LIMITED, *caps)
        self.addCleanup(made.__exit__, None, None, None)
        return made.__enter__()

    def problems(
        self,
        conf: str = '',
        user: str = 'admin',
        pool: str = 'volumes',
        data: str = 'volumes-data',
    ) -> list[findings.Finding]:
        """Return the problems that are found on a controller."""
        path = self.folder / 'cinder.conf'
        path.write_text(
            _CINDER.format(
                conf=conf or self.cluster.conf, user=user, pool=pool, data=data
            )
        )
        host = run.Host(configuration.Configuration([path]), root=self.folder)
        doctor = run.Doctor(host, pools.Clients(rados, rbd), None)
        found = list(doctor.check())
        self.assertIn('librbd', {each.subject for each in found})
        return [each for each in found if each.severity is not None]

    def objects(self, pool: str) -> list[str]:
        """Return the names of the objects that a check left behind."""
        listed = self.cluster.ioctx(pool).list_objects()
        return [each.key for each in listed if 'doctor' in each.key]

    def test_healthy(self) -> None:
        self.assertEqual([], self.problems())
        for pool in ('volumes', 'volumes-data'):
            self.assertEqual([], self.objects(pool))

    def test_user_without_the_capability(self) -> None:
        conf = self.user('mon', 'profile rbd', 'osd', _ONE_POOL)
        (refused,) = self.problems(conf, _LIMITED)
        self.assertEqual(findings.Severity.ERROR, refused.severity)
        self.assertIn('pool volumes-data', refused.subject)
        self.assertIn('profile rbd pool=volumes-data', refused.remedy)
        (missing,) = self.problems(conf, _LIMITED, data='none-such')
        self.assertIn('Create the pool none-such', missing.remedy)
        keyring = pathlib.Path(conf).with_name('keyring').read_text()
        key = keyring.split('key = ')[1].split()[0]
        self.assertNotIn(key, str((refused, missing)))

    def test_user_that_cannot_connect(self) -> None:
        (found,) = self.problems(user='none-such')
        self.assertEqual(findings.Severity.ERROR, found.severity)
        self.assertIn('cannot connect', found.seen)

    def test_options(self) -> None:
        conf = self.conf(
            '[client]\nrbd_cache_max_dirty = 0\nrados_osd_op_timeout = 15\n'
            'ms_client_mode = secure'
        )
        self.assertEqual(
            ['rbd_cache_max_dirty', 'rados_osd_op_timeout', 'ms_client_mode'],
            [each.seen.split(' = ')[0] for each in self.problems(conf)],
        )

    def test_override_of_a_pool(self) -> None:
        """The override takes precedence over QEMU's setting."""
        ioctx = self.cluster.ioctx()
        rbd.RBD().pool_metadata_set(ioctx, 'conf_rbd_cache', 'false')
        self.addCleanup(
            rbd.RBD().pool_metadata_remove, ioctx, 'conf_rbd_cache'
        )
        (found,) = self.problems()
        self.assertEqual('rbd_cache = false', found.seen)
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
