# SPDX-License-Identifier: Apache-2.0

"""Registration in nova-compute, and cases that change nothing."""

import uuid

import ddt
from nova.storage import rbd_utils
from nova.virt import fake
from nova.virt import libvirt
from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import net
from os_brick.initiator import connector
from oslo_utils import importutils

from nova_rbd_cache import compute_driver
from nova_rbd_cache import contract
from nova_rbd_cache import ephemeral
from nova_rbd_cache import registration
from nova_rbd_cache import volume
from rbd_volume_options import errors
from tests import runs
from tests.unit.nova_rbd_cache import base


class _OtherDriver:
    """A third-party driver."""


class RegistrationTestCase(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.patch(driver, 'VOLUME_DRIVERS', dict(driver.VOLUME_DRIVERS))
        self.patch(
            connector,
            'unix_connector_list',
            # The other connectors examine the machine.
            connector.unix_connector_list[:1],
        )
        self.patch(rbd_utils, 'RBDDriver', ephemeral.STOCK)
        self.patch(libvirt, 'LibvirtDriver', compute_driver.STOCK)
        self.conf.set_default('compute_driver', 'libvirt.LibvirtDriver')

    def state(self) -> tuple[object, ...]:
        """Return everything that registration may change."""
        return (
            dict(driver.VOLUME_DRIVERS),
            rbd_utils.RBDDriver,
            libvirt.LibvirtDriver,
        )


@runs.tags(runs.RELEASES)
@ddt.ddt
class ActivateTest(RegistrationTestCase):
    def test_activation_registers_the_driver(self) -> None:
        self.assertIs(True, registration.activate())
        self.assertEqual(contract.OUR_DRIVER, driver.VOLUME_DRIVERS['rbd'])
        # Unchanged, because no option for ephemeral disks is set.
        self.assertIs(ephemeral.STOCK, rbd_utils.RBDDriver)
        (line,) = [
            line
            for line in self.log.output.splitlines()
            if 'nova_rbd_cache' in line and line.startswith('INFO')
        ]
        self.assertIn('is active', line)
        self.assertIn('none, writethrough, writeback, directsync', line)

    def test_nova_loads_what_is_registered(self) -> None:
        self.use_libvirt()
        registration.activate()
        nova = importutils.import_object(
            'nova.virt.libvirt.LibvirtDriver', fake.FakeVirtAPI()
        )
        self.assertIs(compute_driver.RBDCacheDriver, type(nova))
        volume_driver = nova._get_volume_driver(base.connection_info())
        self.assertIs(volume.RBDCacheVolumeDriver, type(volume_driver))
        told = nova.get_volume_connector(None)
        self.assertEqual(
            ['directsync', 'none', 'writeback', 'writethrough'],
            told['rbd_host']['modes'],
        )

    def test_again_changes_nothing(self) -> None:
        self.set_options(ephemeral_object_map='true')
        registration.activate()
        before = self.state()
        registration.activate()
        self.assertEqual(before, self.state())

    @ddt.data(
        {'ephemeral_object_map': 'false'},
        {'ephemeral_image_features': 'layering'},
    )
    def test_disks_of_servers(self, options: dict[str, str]) -> None:
        self.set_options(**options)
        registration.activate()
        self.assertIs(ephemeral.EphemeralRBDDriver, rbd_utils.RBDDriver)

    def test_mark_of_the_cloud_leaves_the_features(self) -> None:
        self.set_options(cloud_id=str(uuid.uuid4()))
        registration.activate()
        self.assertIs(ephemeral.EphemeralRBDDriver, rbd_utils.RBDDriver)
        self.assertIn('disks have the default features', self.log.output)

    def test_not_enabled_is_stock(self) -> None:
        before = self.state()
        self.set_options(enabled=False, ephemeral_object_map='true')
        self.assertIs(False, registration.activate())
        # The only change: traits that the host has reported are removed.
        self.assertIs(compute_driver.WithoutModes, libvirt.LibvirtDriver)
        self.assertEqual(before[:-1], self.state()[:-1])
        self.assertIn('[rbd_cache] enabled = False', self.log.output)
        self.use_libvirt()
        nova = driver.LibvirtDriver(fake.FakeVirtAPI(), False)
        volume_driver = nova._get_volume_driver(
            base.connection_info('writeback')
        )
        self.assertIs(net.LibvirtNetVolumeDriver, type(volume_driver))
        self.assertNotIn('rbd_host', nova.get_volume_connector(None))

    def test_not_enabled_starts_with_any_nova(self) -> None:
        self.set_options(enabled=False)
        self.patch(libvirt, 'LibvirtDriver', _OtherDriver)
        self.assertIs(False, registration.activate())
        self.assertIs(_OtherDriver, libvirt.LibvirtDriver)

    def test_other_compute_drivers(self) -> None:
        self.conf.set_override('compute_driver', 'ironic.IronicDriver')
        before = self.state()
        self.assertIs(False, registration.activate())
        self.assertEqual(before, self.state())
        self.assertIn('ironic.IronicDriver', self.log.output)


class FailureTest(RegistrationTestCase):
    def test_nova_is_not_as_we_know_it(self) -> None:
        driver.VOLUME_DRIVERS['rbd'] = 'other.Driver'
        before = self.state()
        error = self.assertRaises(
            registration.CannotRegister, registration.activate
        )
        self.assertIn('other.Driver', str(error))
        self.assertEqual(before, self.state())

    def test_nova_would_load_the_stock_class_by_another_name(self) -> None:
        name = 'libvirt.driver.LibvirtDriver'
        self.conf.set_override('compute_driver', name)
        before = self.state()
        error = self.assertRaises(
            registration.CannotRegister, registration.activate
        )
        self.assertIn(f'compute_driver = {name}', str(error))
        self.assertEqual(before, self.state())
        loaded = importutils.import_class(f'nova.virt.{name}')
        self.assertIs(compute_driver.STOCK, loaded)

    def test_contradicting_options(self) -> None:
        self.set_options(
            ephemeral_object_map='true', ephemeral_image_features='layering'
        )
        before = self.state()
        self.assertRaises(errors.OptionError, registration.activate)
        self.assertEqual(before, self.state())
