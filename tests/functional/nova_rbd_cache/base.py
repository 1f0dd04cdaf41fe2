# SPDX-License-Identifier: Apache-2.0

"""Nova's functional fixtures, with our driver and libvirt's XML."""

import copy
import pathlib
import sys
from typing import Any
from unittest import mock
import warnings

from lxml import etree
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base
from nova.virt import libvirt
from nova.virt.libvirt import driver
from oslo_utils.fixture import uuidsentinel as uuids
from sqlalchemy import exc as sqlalchemy_exc

from nova_rbd_cache import guests
from nova_rbd_cache import registration
from nova_rbd_cache import settings
from tests.unit.nova_rbd_cache import base as unit_base

#: Volumes and the cache mode that each requests.
ASKED = {
    uuids.volume_none: 'none',
    uuids.volume_writethrough: 'writethrough',
    uuids.volume_writeback: 'writeback',
    uuids.volume_directsync: 'directsync',
    uuids.volume_that_asks_nothing: None,
}
#: The mode of the host for a volume without a request. It also overwrites any
#: mode that the driver does not protect.
HOST_MODE = 'writethrough'
#: The expected modes.
EXPECTED = {volume: mode or HOST_MODE for volume, mode in ASKED.items()}

_ATTACHED = 'instance.volume_attach.end'
_DOMAIN = fakelibvirt.Domain
_CONNECTION = fakelibvirt.Connection


class Told:
    """The last XML that libvirt received for the disk of each volume."""

    def __init__(self) -> None:
        self.modes: dict[str, str] = {}
        #: Serial number and mode by target; never removed.
        self.targets: dict[str, tuple[str, str]] = {}
        #: Attributes of the ``driver`` element.
        self.drivers: dict[str, dict[str, str]] = {}
        #: The XML of the whole server, as libvirt received it.
        self.server = ''

    def hear(self, xml: str) -> None:
        """Record the disks in the XML of a disk or a server."""
        tree = etree.fromstring(xml)
        if tree.tag == 'domain':
            self.server = xml
        for disk in [tree] if tree.tag == 'disk' else tree.iter('disk'):
            serial = disk.findtext('serial')
            driver = dict(disk.find('driver').attrib)
            cache = driver.get('cache')
            # A disk without a mode is from libvirt's own XML, in which the
            # fake keeps no cache modes.
            if serial and cache:
                self.modes[serial] = cache
                target = disk.find('target').get('dev')
                self.targets[target] = serial, cache
                self.drivers[serial] = driver

    def completed(self, xml: str) -> str:
        """Add modes and serials, which the fake omits, to a guest's XML."""
        tree = etree.fromstring(xml)
        for disk in tree.iter('disk'):
            told = self.targets.get(disk.find('target').get('dev'))
            if told:
                serial, cache = told
                disk.find('driver').set('cache', cache)
                etree.SubElement(disk, 'serial').text = serial
        return str(etree.tostring(tree, encoding='unicode'))

    def take(self) -> dict[str, str]:
        """Return the recorded modes and clear them."""
        taken, self.modes = self.modes, {}
        return taken


class NovaTestCase(base.ServersTestBase):
    """Conductor, scheduler, API and compute hosts, in one process."""

    ADMIN_API = True
    microversion = 'latest'

    def setUp(self) -> None:
        # Nova's tests expect it in a checkout of Nova.
        paste = pathlib.Path(sys.prefix, 'etc/nova/api-paste.ini')
        self.flags(api_paste_config=str(paste), group='wsgi')
        super().setUp()
        # Nova's tests turn it into an error; SQLAlchemy is newer here.
        warnings.simplefilter('ignore', sqlalchemy_exc.SADeprecationWarning)
        self.told = Told()
        self._listen(_CONNECTION, 'defineXML', 0)
        self._listen(_CONNECTION, 'createXML', 0)
        self._listen(_DOMAIN, 'attachDeviceFlags', 0)
        self._listen(_DOMAIN, 'blockCopy', 1)
        self.set_modes(ASKED)
        self._name_servers()
        self._keep_modes()
        # The servers have no local disks that a migration could move.
        self.patch(
            driver.LibvirtDriver,
            'migrate_disk_and_power_off',
            lambda *args, **kwargs: '{}',
        )
        self._register()

    def set_modes(self, modes: dict[str, str | None]) -> None:
        """Make Cinder return these modes for volumes."""
        self._patch_dict(
            nova_fixtures.CinderFixture.VOLUME_CONNECTION_INFO,
            {
                volume: unit_base.connection_info(mode, volume)
                for volume, mode in modes.items()
            },
        )

    def _name_servers(self) -> None:
        """Add the server to the attachments that Cinder returns."""
        stock = self.cinder._find_connection_info

        def named(volume: str, attachment: str) -> Any:
            # The attachment of a migration is not among them yet.
            known = self.cinder.volume_to_attachment[volume].values()
            server = next((each['instance_uuid'] for each in known), None)
            return {
                **copy.deepcopy(stock(volume, attachment)),
                'instance': server,
            }

        self.patch(self.cinder, '_find_connection_info', named)

    def _keep_modes(self) -> None:
        """Make our driver read disks with their modes, as from libvirt.

        Nova itself still reads the XML of the fake, which it would send back.
        """
        stock = guests.parse

        def parsed(xml: str, running: bool = True) -> Any:
            return stock(self.told.completed(xml), running)

        self.patch(guests, 'parse', parsed)

    def _register(self) -> None:
        self._patch_dict(driver.VOLUME_DRIVERS, {})
        self.patch(libvirt, 'LibvirtDriver', libvirt.LibvirtDriver)
        registration.register(settings.read(base.CONF))
        self.flags(disk_cachemodes=[f'network={HOST_MODE}'], group='libvirt')

    def _listen(self, holder: Any, name: str, position: int) -> None:
        """Record the XML that a method of libvirt receives."""
        stock = getattr(holder, name)

        def heard(this: Any, *args: Any, **kwargs: Any) -> Any:
            self.told.hear(args[position])
            return stock(this, *args, **kwargs)

        self.patch(holder, name, heard)

    def patch(self, holder: Any, name: str, value: Any) -> None:
        """Replace an attribute for the duration of the test."""
        patch = mock.patch.object(holder, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def _patch_dict(self, which: dict[str, Any], more: Any) -> None:
        patch = mock.patch.dict(which, more)
        patch.start()
        self.addCleanup(patch.stop)

    def make_server(self, **more: Any) -> Any:
        """Create a server with all volumes attached."""
        server = self._create_server(networks='none', **more)
        for volume in ASKED:
            self.attach(server, volume)
        return server

    def attach(self, server: Any, volume: str) -> None:
        """Attach a volume and wait for Nova's notification.

        Nova's tests have no helper for this before 33 (2026.1).
        """
        before = sum(
            each['event_type'] == _ATTACHED
            for each in self.notifier.versioned_notifications
        )
        self.api.post_server_volume(
            server['id'], {'volumeAttachment': {'volumeId': volume}}
        )
        self.notifier.wait_for_versioned_notifications(
            _ATTACHED, n_events=before + 1
        )

    def live_migrate(self, server: Any, host: str) -> None:
        """Live-migrate a server to a host.

        The helper of Nova's tests accepts no host before 33 (2026.1).
        """
        self.api.post_server_action(
            server['id'],
            {'os-migrateLive': {'host': host, 'block_migration': 'auto'}},
        )
        self._wait_for_migration_status(server, ['completed'])
        self._wait_for_state_change(server, 'ACTIVE')


class MigrationTestCase(base.LibvirtMigrationMixin, NovaTestCase):
    """Base class for tests that live-migrate a server."""

    server: Any = None
    src: Any = None
    dest: Any = None

    def migrate_live(self, source: str, target: str) -> None:
        """Live-migrate; the source has other modes in the server's XML."""
        self.src, self.dest = self.computes[source], self.computes[target]
        self.migrate_stub_ran = False
        # The fake drops most attributes of disks. The modes of the source must
        # not matter.
        xml = self.told.server
        for mode in set(EXPECTED.values()):
            xml = xml.replace(f'cache="{mode}"', 'cache="unsafe"')
        with mock.patch.object(
            fakelibvirt.Domain, 'XMLDesc', lambda this, flags: xml
        ):
            self.live_migrate(self.server, host=target)
        self.assertTrue(self.migrate_stub_ran)
