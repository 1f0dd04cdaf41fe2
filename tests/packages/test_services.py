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

"""Services from Debian's packages, with the suite and after its removal."""

from typing import ClassVar

from tests.install import test_cinder
from tests.install import test_glance
from tests.install import test_horizon
from tests.install import test_nova
from tests.packages import debian


class CinderPackageTest(debian.PackageTestCase, test_cinder.CinderTest):
    package: ClassVar[str] = 'python3-cinder-rbd-ext'
    services: ClassVar[tuple[str, ...]] = ('cinder-api', 'cinder-volume')
    leads_to: ClassVar[tuple[str, ...]] = ('cinder_rbd_ext',)


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
