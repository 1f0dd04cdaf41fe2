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

"""Test the URL of the page."""

from django.urls import resolve
from django.urls import reverse

from horizon_volume_opts.admin_images import views
from tests.unit import base


class AddressTestCase(base.TestCase):
    def test_index_is_routed(self) -> None:
        address = reverse('horizon:admin:rbd_images:index')
        found = resolve(address)
        self.assertIs(views.IndexView, found.func.view_class)
