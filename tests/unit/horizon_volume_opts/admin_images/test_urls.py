# SPDX-License-Identifier: Apache-2.0

"""Test the URL of the page."""

from django.urls import resolve
from django.urls import reverse

from horizon_volume_opts.admin_images import views
from tests.unit import base


class AddressTestCase(base.TestCase):
    def test_index_is_routed(self) -> None:
        address = reverse('horizon:admin:rbd_images:index')
        match = resolve(address)
        self.assertIs(views.IndexView, match.func.view_class)
