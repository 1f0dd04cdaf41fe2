# SPDX-License-Identifier: Apache-2.0

"""Services from Debian's packages, with the suite and after its removal."""

import pathlib
from typing import ClassVar

from tests import tree
from tests.install import test_cinder
from tests.install import test_glance
from tests.install import test_horizon
from tests.install import test_nova
from tests.packages import debian
from tests.unit import base


class CinderPackageTest(debian.PackageTestCase, test_cinder.CinderTest):
    package: ClassVar[str] = 'python3-cinder-rbd-ext'
    services: ClassVar[tuple[str, ...]] = ('cinder-api', 'cinder-volume')
    leads_to: ClassVar[tuple[str, ...]] = (
        'cinder_rbd_ext',
        'rbd_tempest_plugin',
    )


class GlancePackageTest(debian.PackageTestCase, test_glance.GlanceTest):
    package: ClassVar[str] = 'python3-glance-store-objmap'
    services: ClassVar[tuple[str, ...]] = ('glance-api',)
    leads_to: ClassVar[tuple[str, ...]] = ('glance_store_objmap',)
    # The package ships them for the documented command.
    loads_metadefs: ClassVar[bool] = False


class HorizonPackageTest(debian.PackageTestCase, test_horizon.HorizonTest):
    package: ClassVar[str] = 'python3-horizon-volume-opts'
    services: ClassVar[tuple[str, ...]] = ('openstack-dashboard',)
    leads_to: ClassVar[tuple[str, ...]] = ()
    # Debian ships the module outside the packages, with its own settings.
    site: ClassVar[str] = 'wsgi'

    def setUp(self) -> None:
        super().setUp()
        self.environ['PYTHONPATH'] = '/usr/share/openstack-dashboard'


class NovaPackageTest(debian.PackageTestCase, test_nova.NovaTest):
    package: ClassVar[str] = 'python3-nova-rbd-cache'
    services: ClassVar[tuple[str, ...]] = ('nova-compute',)
    leads_to: ClassVar[tuple[str, ...]] = ('nova_rbd_cache',)


class ToolsPackageTest(debian.Packaged, base.TestCase):
    """The commands of operators, and their units."""

    # The packages are built first.
    timeout = 900
    package: ClassVar[str] = 'python3-rbd-volume-tools'

    def _units(self) -> list[str]:
        folder = pathlib.Path('/usr/lib/systemd/system')
        return sorted(path.name for path in folder.glob('cinder-rbd-ext-*'))

    def test_commands_work_and_no_unit_is_enabled(self) -> None:
        self.environment()
        self.assertEqual([], self._units())
        self.install()
        for command in ('audit', 'bench run', 'doctor', 'exporter'):
            words = ['cinder-rbd-ext', *command.split(), '--help']
            self.assertIn('usage:', self.fresh.execute(*words))
        shipped = (tree.ROOT / 'etc/systemd').iterdir()
        self.assertEqual(sorted(x.name for x in shipped), self._units())
        wanted = pathlib.Path('/etc/systemd/system')
        self.assertEqual([], list(wanted.rglob('cinder-rbd-ext-*')))
        # The driver is in another package.
        self.assertNotIn('python3-cinder-rbd-ext', self.fresh.distributions())
        self.assertEqual({'rbd_volume_tools'}, set(self.owners()))
        self.purge()
        self.assertEqual([], self._units())
