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

"""Pages, style sheets and scripts of the served dashboard."""

from tests.cloud import browser


class LoginTest(browser.BrowserTestCase):
    """Log in and see volumes, as a tenant and as an operator."""

    def test_tenant_sees_own_volume(self) -> None:
        volume = self.created(name='seen in the dashboard')
        self.login('demo')
        self.open('/project/volumes/')
        row = self.text(f'tr[data-object-id="{volume}"]')
        self.assertIn('seen in the dashboard', row)
        self.assertIn('rbd', row)
        self.screenshot('volumes')
        self.check_quiet()

    def test_operator_sees_volume_types(self) -> None:
        self.login('admin')
        self.open('/admin/volume_types/')
        self.assertIn('rbd-multiattach', self.text('#volume_types'))
        self.check_quiet()
