# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Nova's configuration and fixtures, for tests of what runs in it."""

from typing import Any
from unittest import mock

from lxml import etree
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import conf as nova_conf

from nova_rbd_cache import opts
from tests.unit import base

VOLUME_ID = '6a8f5f5e-9a5a-4c5b-8f1d-0d6b7f3f0001'
DISK_INFO = {'bus': 'virtio', 'dev': 'vdb', 'type': 'disk'}


def connection_info(
    mode: str | None = None, volume_id: str = VOLUME_ID, **more: Any
) -> dict[str, Any]:
    """Return what Cinder's RBD driver says of an attachment."""
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
        'data': data,
        **more,
    }


def cache_of(xml: str) -> str | None:
    """Return the cache mode of a disk's XML."""
    driver = etree.fromstring(xml).find('driver')
    found: str | None = driver.get('cache')
    return found


class NovaTestCase(base.TestCase):
    """Nova's global configuration, with our section, as it was afterwards."""

    def setUp(self) -> None:
        super().setUp()
        self.conf_fixture = self.useFixture(
            nova_conf.ConfFixture(nova_conf.config.CONF)
        )
        self.conf = self.conf_fixture.conf
        opts.register(self.conf)
        self.conf.set_default('host', 'compute-1')

    def set_options(self, group: str = 'rbd_cache', **values: Any) -> None:
        """Set options for the time of the test."""
        for name, value in values.items():
            self.conf.set_override(name, value, group=group)

    def patch(self, holder: Any, name: str, value: Any) -> None:
        """Put a value in place for the time of the test."""
        patch = mock.patch.object(holder, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def use_libvirt(self) -> None:
        """Have Nova's stand-in for libvirt, which takes and gives real XML."""
        self.useFixture(nova_fixtures.LibvirtFixture())
