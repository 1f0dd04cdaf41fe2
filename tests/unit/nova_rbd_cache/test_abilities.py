# SPDX-License-Identifier: Apache-2.0

from importlib import metadata
import types
from typing import Any

from nova_rbd_cache import abilities
from nova_rbd_cache import settings
from rbd_volume_options.families import cache_modes
from tests.unit.nova_rbd_cache import base

_DOMAIN = """
<domainCapabilities><devices><disk>
  <enum name='diskDevice'><value>disk</value></enum>
  <enum name='bus'><value>scsi</value><value>virtio</value></enum>
</disk></devices></domainCapabilities>
"""


class AbilitiesTest(base.NovaTestCase):
    def of_host(self, **answers: Any) -> Any:
        """Return what a host can do, of which libvirt gives the answers."""
        connection = types.SimpleNamespace(
            **{
                name: lambda value=value: value
                for name, value in answers.items()
            }
        )
        host = types.SimpleNamespace(get_connection=lambda: connection)
        return abilities.of_host(settings.read(self.conf), host)

    def test_versions_and_buses_are_those_of_libvirt(self) -> None:
        self.patch(metadata, 'version', lambda name: '1')
        self.set_options(allowed_modes='none', disk_iothread=True)
        host = self.of_host(
            getLibVersion=11003000,
            getVersion=10000001,
            getDomainCapabilities=_DOMAIN,
        )
        self.assertEqual(frozenset({cache_modes.CacheMode.NONE}), host.modes)
        self.assertEqual('libvirt 11.3.0, QEMU 10.0.1', host.software)
        self.assertLessEqual({'plug_in', 'nova'}, host.versions.keys())
        self.assertEqual(('scsi', 'virtio'), host.buses)
        self.assertTrue(host.io_thread)

    def test_old_libvirt_has_no_discard_granularity(self) -> None:
        for version, expected in ((9006999, False), (9007000, True)):
            host = self.of_host(getLibVersion=version)
            self.assertIs(expected, 'rbd:discard_granularity' in host.keys)

    def test_host_without_an_answer_of_libvirt_raises_nothing(self) -> None:
        host = self.of_host(getDomainCapabilities='<broken')
        self.assertEqual(frozenset({'rbd:detect_zeroes'}), host.keys)
        self.assertEqual((), host.buses)
