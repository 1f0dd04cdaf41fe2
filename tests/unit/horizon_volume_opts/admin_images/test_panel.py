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

"""Position of the panel, and access to it."""

from django.urls import reverse
import horizon
from openstack_dashboard.test import helpers

from horizon_volume_opts.admin_images import panel


class PanelTestCase(helpers.BaseAdminViewTests):
    def test_stands_below_volume(self) -> None:
        address = reverse('horizon:admin:rbd_images:index')
        self.assertEqual('/admin/rbd_images/', address)
        # Panels are registered when a URL is first resolved.
        dashboard = horizon.get_dashboard('admin')
        found = dashboard.get_panel('rbd_images')
        self.assertIsInstance(found, panel.RBDImages)
        self.assertIn(found, list(dashboard.get_panel_group('volume')))
        self.assertEqual(address, found.get_absolute_url())


class TenantTestCase(helpers.TestCase):
    def test_is_refused(self) -> None:
        response = self.client.get('/admin/rbd_images/')
        self.assertNotEqual(200, response.status_code)
