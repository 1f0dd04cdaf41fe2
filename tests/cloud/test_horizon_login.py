# SPDX-License-Identifier: Apache-2.0

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
        self.check_quiet()

    def test_operator_sees_volume_types(self) -> None:
        self.login('admin')
        self.open('/admin/volume_types/')
        self.assertIn('rbd-multiattach', self.text('#volume_types'))
        self.check_quiet()
