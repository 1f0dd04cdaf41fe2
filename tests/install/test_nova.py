# SPDX-License-Identifier: Apache-2.0
"""Nova alone: nova-compute with the plug-in, and its table of drivers."""

from typing import ClassVar

from tests import runs
from tests.install import base

_CONF = """\
[DEFAULT]
transport_url = fake://
compute_driver = libvirt.LibvirtDriver
state_path = {folder}
[oslo_concurrency]
lock_path = {folder}
"""

# The first steps of the nova-compute program.
_DRIVERS = """
from nova.cmd import compute
from nova import config
import os_vif
config.parse_args(['nova-compute', *sys.argv[1:]])
os_vif.initialize()
from nova.virt.libvirt import driver
show(driver.VOLUME_DRIVERS)
"""


# The part packages starts the same service of Debian.
@runs.tags(runs.NIGHTLY)
class NovaTest(base.InstallTestCase):
    service: ClassVar[str] = 'nova'
    ours: ClassVar[tuple[str, ...]] = ('nova_rbd_cache', 'rbd_volume_options')
    page: ClassVar[str] = 'compute.rst'

    def setUp(self) -> None:
        super().setUp()
        # nova-compute and the command on the page find the file here.
        text = _CONF.format(folder=self.folder)
        self.conf = self.write('.nova/nova.conf', text)

    def _log(self) -> str:
        """Start nova-compute and return its log up to the loading of plug-ins.

        After that it would wait for a conductor.
        """
        return self.log_of_start(
            *(self.fresh.program('nova-compute'), '--config-file', self.conf),
            until='Loaded VIF plugins',
        )

    def _drivers(self, *ours: str) -> dict[str, str]:
        drivers: dict[str, str] = self.probe(
            _DRIVERS, '--config-file', self.conf, ours=ours
        )
        return drivers

    def test_nova_runs_alone_with_the_suite_and_without(self) -> None:
        self.check_nothing_else()
        self.check_extra()
        before = self._drivers()
        self.install_as_documented(HOME=str(self.folder))
        self.assertIn('nova_rbd_cache is active', self._log())
        self.assertEqual(
            {**before, 'rbd': 'nova_rbd_cache.volume.RBDCacheVolumeDriver'},
            self._drivers(*self.ours),
        )
        self.uninstall()
        self.assertNotIn('rbd_cache', self._log())
        self.assertEqual(before, self._drivers())
