# SPDX-License-Identifier: Apache-2.0

"""A back end whose cephx user lacks capabilities, on real Ceph."""

import pathlib
import subprocess
from typing import Any

import fixtures

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests import runs
from tests.functional.cinder_rbd_ext import base

_DATA = 'volumes-data'


class LimitedUserTestCase(base.DriverTestCase):
    """A driver with its own cephx user."""

    def ceph(self, *args: str) -> str:
        """Run ``ceph`` as an operator."""
        command = ['ceph', '--conf', self.cluster.conf, '--id', 'admin', *args]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True
        )
        return done.stdout

    def limited_driver(self, *pools: str, **options: Any) -> Any:
        """Return a driver whose user may access only some pools."""
        allowed = ', '.join(f'profile rbd pool={pool}' for pool in pools)
        keyring = self.ceph(
            *('auth', 'get-or-create', 'client.limited'),
            *('mon', 'profile rbd', 'osd', allowed),
        )
        self.addCleanup(self.ceph, 'auth', 'rm', 'client.limited')
        path = self.tmp / 'limited.keyring'
        path.write_text(keyring)
        conf = pathlib.Path(self.cluster.conf).read_text()
        limited = self.tmp / 'limited.conf'
        limited.write_text(f'{conf}\n[client.limited]\nkeyring = {path}\n')
        return self.make_driver(
            rbd_user='limited', rbd_ceph_conf=str(limited), **options
        )

    def objects(self, pool: str = _DATA) -> list[str]:
        """Return the objects in a pool that the write probe created."""
        listed = self.cluster.ioctx(pool).list_objects()
        return [each.key for each in listed if 'probe' in each.key]


class DataPoolTest(LimitedUserTestCase):
    """A data pool that the user can list but not write."""

    def test_back_end_does_not_start(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidBackendOptions,
            self.limited_driver,
            'volumes',
            rbd_volume_data_pool=_DATA,
        )
        for part in (
            f"rbd_volume_data_pool = '{_DATA}'",
            'errno 1, EPERM',
            f"'profile rbd pool={_DATA}'",
        ):
            self.assertIn(part, str(error))

    def test_volume_of_a_type_is_refused(self) -> None:
        driver = self.limited_driver('volumes')
        volume = self.new_volume(
            volume_type=self.make_type(rbd_data_pool=_DATA)
        )
        self.assertRaises(
            exceptions.VolumeOptionRefused, driver.create_volume, volume
        )
        reason = self.reason(volume) or ''
        self.assertIn(keys.DATA_POOL, reason)
        self.assertIn('errno 1, EPERM', reason)
        self.assertEqual([], self.cluster.names())

    def test_capability_given_later(self) -> None:
        driver = self.limited_driver('volumes')
        type_id = self.make_type(rbd_data_pool=_DATA)
        self.assertRaises(
            exceptions.VolumeOptionRefused,
            driver.create_volume,
            self.new_volume(volume_type=type_id),
        )
        caps = f'profile rbd pool=volumes, profile rbd pool={_DATA}'
        self.ceph(
            *('auth', 'caps', 'client.limited'),
            *('mon', 'profile rbd', 'osd', caps),
        )
        driver.create_volume(self.new_volume(volume_type=type_id))

    def test_a_pool_that_may_be_written(self) -> None:
        driver = self.limited_driver(
            'volumes', _DATA, rbd_volume_data_pool=_DATA
        )
        volume = self.made_volume(driver=driver)
        driver.delete_volume(volume)
        self.assertEqual([], self.objects())

    def test_full_pool(self) -> None:
        """Ordinary writes to a full pool block; the probe does not."""
        self.useFixture(fixtures.Timeout(60, gentle=False))
        data = self.cluster.ioctx(_DATA)
        data.write_full('filler', b'x')
        self.addCleanup(data.remove_object, 'filler')
        quota = ('osd', 'pool', 'set-quota', _DATA, 'max_objects')
        self.addCleanup(self.ceph, *quota, '0')
        self.ceph(*quota, '1')
        driver = self.make_driver(rbd_volume_data_pool=_DATA)
        self.assertEqual(_DATA, driver.settings.options.data_pool)


@runs.tags(runs.NIGHTLY)
class OfferedPoolsTest(LimitedUserTestCase):
    """The pools that the back end reports as possible data pools."""

    def make_pool(self, name: str, *application: str) -> None:
        """Create a pool, by default without an application."""
        self.ceph('osd', 'pool', 'create', name, '8')
        self.addCleanup(
            self.ceph,
            *('osd', 'pool', 'rm', name, name),
            '--yes-i-really-really-mean-it',
        )
        for each in application:
            self.ceph('osd', 'pool', 'application', 'enable', name, each)

    def test_pools_with_the_application_are_reported_and_not_written(
        self,
    ) -> None:
        self.make_pool('objects', 'rgw')
        self.make_pool('blank')
        self.make_pool('more', 'rbd')
        # The user may use one pool only.
        driver = self.limited_driver('volumes')
        self.assertEqual(
            ['images', 'more', _DATA, 'volumes2'],
            driver.get_volume_stats(refresh=True)['rbd_data_pools'],
        )
        for pool in ('objects', 'blank', 'more', _DATA):
            self.assertEqual([], self.objects(pool))


class CloneSourcesTest(LimitedUserTestCase):
    """Leftovers of clones are removed by a user of one pool, too."""

    def test_clone_and_source(self) -> None:
        driver = self.limited_driver('volumes')
        source = self.made_volume(driver=driver)
        volumes = [source]
        for _ in range(2):
            clone = self.new_volume(source_volid=source.id)
            driver.create_cloned_volume(clone, source)
            volumes.append(clone)
        for volume in volumes:
            driver.delete_volume(volume)
        self.assertEqual([], self.cluster.names())
