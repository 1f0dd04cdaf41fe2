# SPDX-License-Identifier: Apache-2.0

"""Position of the panel, and access to it."""

from django.urls import reverse
import horizon
from openstack_dashboard.test import helpers

from horizon_volume_opts.admin_images import panel
from tests import runs


@runs.tags(runs.RELEASES)
class PanelTestCase(helpers.BaseAdminViewTests):
    def test_stands_below_volume(self) -> None:
        address = reverse('horizon:admin:rbd_images:index')
        self.assertEqual('/admin/rbd_images/', address)
        # Panels are registered when a URL is first resolved.
        dashboard = horizon.get_dashboard('admin')
        ours = dashboard.get_panel('rbd_images')
        self.assertIsInstance(ours, panel.RBDImages)
        self.assertIn(ours, list(dashboard.get_panel_group('volume')))
        self.assertEqual(address, ours.get_absolute_url())


class TenantTestCase(helpers.TestCase):
    def test_is_refused(self) -> None:
        response = self.client.get('/admin/rbd_images/')
        self.assertNotEqual(200, response.status_code)
