# SPDX-License-Identifier: Apache-2.0

"""Test I/O thread and queues in the configuration of volumes' disks."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from unittest import mock

from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base as libvirt_base
from nova.virt.libvirt import driver
from oslo_utils.fixture import uuidsentinel as uuids

from tests.functional.nova_rbd_cache import base

_VOLUME = uuids.volume_writeback
_OTHER = uuids.volume_that_asks_nothing
#: The tested attributes of the disk's driver element.
_NAMES = ('cache', 'iothread', 'queues')
_MODES = {_VOLUME: 'writeback', _OTHER: base.HOST_MODE}
#: Guests have an I/O thread since Nova 33.
HAVE_THREADS = hasattr(driver.LibvirtDriver, '_get_guest_iothread')


class TuningTestCase(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.flags(disk_queues=3, group='rbd_cache')
        if HAVE_THREADS:
            self.flags(disk_iothread=True, group='rbd_cache')
        self.expected = {'queues': '3'}
        if HAVE_THREADS:
            self.expected['iothread'] = '1'

    def take(self) -> dict[str, dict[str, str]]:
        """Return and clear the attributes that libvirt received."""
        drivers, self.told.drivers = self.told.drivers, {}
        return {
            volume: {k: v for k, v in attributes.items() if k in _NAMES}
            for volume, attributes in drivers.items()
        }


class OneHostTest(TuningTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.start_compute()
        self.server: Any = self._create_server(networks='none')

    def ways(self) -> list[tuple[str, Callable[[], Any]]]:
        """Return the actions that configure the disks of both volumes."""
        return [
            ('attach, running', self._attach),
            ('hard reboot', lambda: self._reboot_server(self.server, True)),
            ('attach, stopped', self._attach_anew),
            ('start', lambda: self._start_server(self.server)),
        ]

    def test_each_way(self) -> None:
        expected = {
            volume: {**self.expected, 'cache': mode}
            for volume, mode in _MODES.items()
        }
        for name, go in self.ways():
            with self.subTest(name):
                go()
                self.assertEqual(expected, self.take())

    def test_guest_of_an_older_nova(self) -> None:
        """The guest has no I/O thread, and libvirt would refuse the disk."""
        with self._guest_has('<domain/>'):
            self.attach(self.server, _OTHER)
        expected = {'cache': base.HOST_MODE, 'queues': '3'}
        self.assertEqual({_OTHER: expected}, self.take())

    def _attach(self) -> None:
        for volume in _MODES:
            self.attach(self.server, volume)

    def _attach_anew(self) -> None:
        self._stop_server(self.server)
        for volume in _MODES:
            self.api.delete_server_volume(self.server['id'], volume)
            self._wait_for_volume_detach(self.server['id'], volume)
        self._attach()

    def _guest_has(self, xml: str) -> Any:
        return mock.patch.object(
            fakelibvirt.Domain, 'XMLDesc', lambda this, flags: xml
        )


class LiveMigrationTest(libvirt_base.LibvirtMigrationMixin, TuningTestCase):
    #: Options that differ from those of the other tests.
    unset: Mapping[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        self.flags(**self.unset, group='rbd_cache')
        for host in ('one', 'two'):
            self.start_compute(host)
        self.server: Any = self._create_server(networks='none', host='one')
        self.src, self.dest = self.computes['one'], self.computes['two']
        self.migrate_stub_ran = False

    def test_goes_as_it_is(self) -> None:
        """A running guest requires the same queues on the target host."""
        expected = {**self.expected, 'cache': 'writeback', 'queues': '7'}
        self._migrate('queues="3"', 'queues="7"', expected)

    def _migrate(self, has: str, had: str, expected: dict[str, str]) -> None:
        """Migrate a guest that was started with other attributes."""
        self.attach(self.server, _VOLUME)
        self._reboot_server(self.server, hard=True)
        self.take()
        xml = self.told.server.replace(has, had)
        self.assertNotEqual(xml, self.told.server)
        with mock.patch.object(
            fakelibvirt.Domain, 'XMLDesc', lambda this, flags: xml
        ):
            self.live_migrate(self.server, host='two')
        self.assertTrue(self.migrate_stub_ran)
        self.assertEqual({_VOLUME: expected}, self.take())


class UnsetTest(LiveMigrationTest):
    """The options were unset after the guest was started."""

    unset = {'disk_queues': None, 'disk_iothread': False}

    def test_goes_as_it_is(self) -> None:
        expected = {'cache': 'writeback', 'queues': '7', 'iothread': '1'}
        self._migrate(
            'cache="writeback"',
            'cache="writeback" queues="7" iothread="1"',
            expected,
        )
