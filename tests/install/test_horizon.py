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
"""Horizon only: its pages are served, with the panel and without."""

from typing import ClassVar

from tests.install import base

_PANEL = 'rbd_images'
_ENABLED = '_3110_rbd_volume_options.py'

# No memcached, and no Keystone behind the address.
_SETTINGS = """\
ALLOWED_HOSTS = ['localhost']
SECRET_KEY = 'only of a test'
OPENSTACK_KEYSTONE_URL = 'http://127.0.0.1:1/v3'
CACHES = {{
    'default': {{'BACKEND': 'django.core.cache.backends.locmem.LocMemCache'}},
}}
COMPRESS_OFFLINE = True
STATIC_ROOT = '{folder}/static'
TIME_ZONE = 'UTC'
"""

# The site as a web server loads it; a page has Horizon find its panels.
_SITE = """
import importlib
wsgi = importlib.import_module(sys.argv[1])
status, body = get(wsgi.application, '/auth/login/', HTTP_HOST='localhost')
import horizon
panels = horizon.get_dashboard('admin').get_panels()
show([status, body, [panel.slug for panel in panels]])
"""


class HorizonTest(base.InstallTestCase):
    service: ClassVar[str] = 'horizon'
    ours: ClassVar[tuple[str, ...]] = (
        *('horizon_volume_opts', 'rbd_volume_options'),
    )
    page: ClassVar[str] = 'dashboard.rst'
    #: What a web server loads.
    site: ClassVar[str] = 'openstack_dashboard.wsgi'

    def setUp(self) -> None:
        super().setUp()
        settings = _SETTINGS.format(folder=self.folder)
        self.write('local/__init__.py')
        self.write('local/local_settings.py', settings)
        self.environ = {
            'DJANGO_SETTINGS_MODULE': 'openstack_dashboard.settings',
            'PYTHONPATH': str(self.folder),
        }

    def _panels(self, *ours: str) -> list[str]:
        """Have the first page served; return the panels of operators."""
        status, body, panels = self.probe(
            _SITE, self.site, ours=ours, **self.environ
        )
        self.assertEqual('200 OK', status, body)
        self.assertIn('csrfmiddlewaretoken', body)
        return [str(each) for each in panels]

    def test_alone(self) -> None:
        self.check_nothing_else()
        self.check_extra()
        # The page sets the rest; this is where the test's settings are.
        self.install_as_documented(PYTHONPATH=str(self.folder))
        self.fresh.execute('django-admin', 'check', **self.environ)
        panels = self._panels(*self.ours)
        self.assertIn(_PANEL, panels)
        self.uninstall()
        panels.remove(_PANEL)
        self.assertEqual(panels, self._panels())

    def uninstall(self) -> None:
        """Remove the link, then the suite; make the static files anew."""
        enabled = self.fresh.site / 'openstack_dashboard/local/enabled'
        (enabled / _ENABLED).unlink()
        super().uninstall()
        admin = self.fresh.program('django-admin')
        self.fresh.execute(
            admin, 'collectstatic', '--noinput', '--clear', **self.environ
        )
        self.fresh.execute(admin, 'compress', '--force', **self.environ)
