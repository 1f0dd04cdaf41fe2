# SPDX-License-Identifier: Apache-2.0

"""Test the checks of the parts of Nova that the plug-in relies on."""

from typing import Any

import ddt
from nova import version
from nova.storage import rbd_utils
from nova.virt import libvirt
from nova.virt.libvirt import config
from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import net

from nova_rbd_cache import contract
from nova_rbd_cache import disk
from nova_rbd_cache import settings
from rbd_volume_options import errors
from tests import option_values
from tests import runs
from tests.unit.nova_rbd_cache import base


def _settings(ephemeral: bool = False, **disks: Any) -> settings.Settings:
    return settings.Settings(
        allowed_modes=(),
        disks=settings.DiskSettings(**disks),
        ephemeral=settings.EphemeralSettings(
            option_values.level(
                errors.Origin.BACKEND, object_map=ephemeral or None
            )
        ),
    )


_NOTHING = _settings()
_EVERY = _settings(ephemeral=True, queues=2)


def _get_config(self: Any, info: Any, disk_info: Any) -> None:
    pass


def _clone(self: Any, location: Any, name: Any) -> None:
    pass


@runs.tags(runs.RELEASES)
@ddt.ddt
class ContractTest(base.NovaTestCase):
    def test_installed_nova_keeps_the_contract(self) -> None:
        self.assertEqual([], list(contract.problems(_EVERY)))

    @ddt.data(
        (driver, 'VOLUME_DRIVERS', {'rbd': 'other.Driver'}, 'other.Driver'),
        (driver, 'VOLUME_DRIVERS', {}, 'None'),
        (
            net.LibvirtNetVolumeDriver,
            'get_config',
            _get_config,
            'self, info, disk_info, not self, connection_info',
        ),
        (
            net.LibvirtNetVolumeDriver,
            'connect_volume',
            _clone,
            'self, location, name, not self, connection_info',
        ),
        (disk.PinnedDisk, 'driver_cache', 'none', 'has none in its XML'),
        (
            disk.TunedDisk,
            'format_dom',
            config.LibvirtConfigGuestDisk.format_dom,
            "a disk with {'iothread': '1'",
        ),
        (libvirt, 'LibvirtDriver', dict, 'the compute driver is builtins'),
        (
            driver.LibvirtDriver,
            'check_can_live_migrate_source',
            _clone,
            'self, location, name, not self, context',
        ),
        (
            driver.LibvirtDriver,
            'check_can_live_migrate_destination',
            _clone,
            'self, location, name, not self, context',
        ),
        (
            driver.LibvirtDriver,
            'get_volume_connector',
            _clone,
            'self, location, name, not self, instance',
        ),
        (rbd_utils.RBDDriver, 'clone', _clone, 'location, name, not'),
    )
    @ddt.unpack
    def test_changed_name_of_nova_is_a_problem(
        self, holder: Any, name: str, value: Any, text: str
    ) -> None:
        self.patch(holder, name, value)
        (problem,) = contract.problems(_EVERY)
        self.assertIn(text, problem)

    def test_disks_of_servers_only_where_they_matter(self) -> None:
        self.patch(rbd_utils.RBDDriver, 'clone', _clone)
        self.assertEqual([], list(contract.problems(_NOTHING)))

    def test_io_threads_where_nova_has_them(self) -> None:
        """Nova has I/O threads since version 33."""
        problems = list(contract.problems(_settings(iothread=True)))
        has_them = int(version.version_string().split('.')[0]) >= 33
        self.assertEqual(0 if has_them else 1, len(problems))
        if has_them:
            stock = driver.LibvirtDriver._get_guest_iothread
            self.addCleanup(
                setattr, driver.LibvirtDriver, '_get_guest_iothread', stock
            )
            del driver.LibvirtDriver._get_guest_iothread
            problems = list(contract.problems(_settings(iothread=True)))
        self.assertIn('disk_iothread = True', problems[0])
        self.assertIn('2026.1', problems[0])
        # Queues do not require an I/O thread.
        self.assertEqual([], list(contract.problems(_settings(queues=8))))

    def test_names_are_those_of_the_classes(self) -> None:
        self.assertEqual(
            contract.STOCK_DRIVER,
            f'{net.__name__}.{net.LibvirtNetVolumeDriver.__name__}',
        )
        self.assertEqual(contract.STOCK_DRIVER, driver.VOLUME_DRIVERS['rbd'])
