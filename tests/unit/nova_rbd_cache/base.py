# SPDX-License-Identifier: Apache-2.0

"""Nova's configuration and fixtures, for tests of the Nova plug-in."""

import types
from typing import Any
from unittest import mock

import fixtures
from lxml import etree
from nova import exception
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import conf as nova_conf

from nova_rbd_cache import opts
from tests.unit import base

VOLUME_ID = '6a8f5f5e-9a5a-4c5b-8f1d-0d6b7f3f0001'
SERVER_ID = 'b3a1c6de-2f0e-4f6a-9a64-0d6b7f3f0002'
DISK_INFO = {'bus': 'virtio', 'dev': 'vdb', 'type': 'disk'}


def connection_info(
    mode: str | None = None, volume_id: str = VOLUME_ID, **more: Any
) -> dict[str, Any]:
    """Return the connection_info of an attachment from Cinder."""
    data = {
        'name': f'volumes/volume-{volume_id}',
        'hosts': ['192.0.2.1'],
        'ports': ['6789'],
        'auth_enabled': True,
        'auth_username': 'cinder',
        'secret_type': 'ceph',
        'secret_uuid': '457eb676-33da-42ec-9a8c-9293d545c337',
        'volume_id': volume_id,
        'discard': True,
        'qos_specs': None,
        'access_mode': 'rw',
        'encrypted': False,
    }
    if mode is not None:
        data['cache_mode'] = mode
    return {
        'driver_volume_type': 'rbd',
        'serial': volume_id,
        'instance': SERVER_ID,
        'data': data,
        **more,
    }


def driver_of(xml: str) -> dict[str, str]:
    """Return the driver attributes in the XML of a disk."""
    return dict(etree.fromstring(xml).find('driver').attrib)


def cache_of(xml: str) -> str | None:
    """Return the cache mode in the XML of a disk."""
    driver = etree.fromstring(xml).find('driver')
    mode: str | None = driver.get('cache')
    return mode


class FakeHost:
    """Fake of Nova's libvirt host, with one guest or none.

    :ivar asked: how often it was queried for the guest
    :ivar xml: the XML of the guest
    :ivar libvirt: the version of libvirt
    """

    def __init__(self, xml: str = '', running: bool = True) -> None:
        self.asked = 0
        self.xml = xml
        self.running = running
        self.libvirt = 11003000

    def get_connection(self) -> Any:
        """Return the connection to libvirt."""
        return types.SimpleNamespace(
            getLibVersion=lambda: self.libvirt, getVersion=lambda: 7002000
        )

    def get_guest(self, instance: Any) -> Any:
        """Return Nova's object for the guest."""
        self.asked += 1
        if not self.xml or instance.uuid != SERVER_ID:
            raise exception.InstanceNotFound(instance_id=instance.uuid)
        return types.SimpleNamespace(
            get_xml_desc=lambda: self.xml, is_active=lambda: self.running
        )

    def find_secret(self, usage_type: str, usage_id: str) -> None:
        """Return no passphrase: the volumes are not encrypted."""


def guest_xml(threads: int = 1, driver: Any = None, block_io: str = '') -> str:
    """Return the XML of a guest.

    :param driver: the driver attributes of the volume's disk, if attached
    :param block_io: its element ``blockio``
    """
    disk = ''
    if driver:
        words = ' '.join(f'{k}="{v}"' for k, v in driver.items())
        serial = f'<serial>{VOLUME_ID}</serial>'
        disk = f'<disk><driver {words}/>{block_io}{serial}</disk>'
    count = f'<iothreads>{threads}</iothreads>' if threads else ''
    other = '<disk><driver name="qemu" iothread="9"/></disk>'
    devices = f'<devices>{other}{disk}</devices>'
    return f'<domain><uuid>{SERVER_ID}</uuid>{count}{devices}</domain>'


class NovaTestCase(base.TestCase):
    """Base class with Nova's configuration, which is restored afterwards."""

    def setUp(self) -> None:
        super().setUp()
        self.conf_fixture = self.useFixture(
            nova_conf.ConfFixture(nova_conf.config.CONF)
        )
        self.conf = self.conf_fixture.conf
        opts.register(self.conf)
        self.conf.set_default('host', 'compute-1')
        folder = self.useFixture(fixtures.TempDir()).path
        self.conf.set_default('instances_path', folder)

    def set_options(self, group: str = 'rbd_cache', **values: Any) -> None:
        """Set options for the duration of the test."""
        for name, value in values.items():
            self.conf.set_override(name, value, group=group)

    def patch(self, holder: Any, name: str, value: Any) -> None:
        """Replace an attribute for the duration of the test."""
        patch = mock.patch.object(holder, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def use_libvirt(self) -> None:
        """Use Nova's fake libvirt, which parses and returns real XML."""
        self.useFixture(nova_fixtures.LibvirtFixture())
