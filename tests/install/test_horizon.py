# SPDX-License-Identifier: Apache-2.0
"""Horizon alone serves its pages with and without the panel."""

from typing import ClassVar

from tests import runs
from tests.install import base

_PANEL = 'rbd_images'
_ENABLED = '_3110_rbd_volume_options.py'

# No memcached, and no Keystone at the address.
_SETTINGS = """\
ALLOWED_HOSTS = ['localhost']
SECRET_KEY = 'only of a test'
OPENSTACK_KEYSTONE_URL = 'http://127.0.0.1:1/v3'
CACHES = {{
    'default': {{'BACKEND': 'django.core.cache.backends.locmem.LocMemCache'}},
}}
COMPRESS_OFFLINE = True
# One theme: each takes seconds to compile.
AVAILABLE_THEMES = [('default', 'Default', 'themes/default')]
STATIC_ROOT = '{folder}/static'
TIME_ZONE = 'UTC'
"""

# Load the site like a web server. Horizon discovers its panels at the first
# request.
_SITE = """
import importlib
wsgi = importlib.import_module(sys.argv[1])
status, body = get(wsgi.application, '/auth/login/', HTTP_HOST='localhost')
import horizon
panels = horizon.get_dashboard('admin').get_panels()
show([status, body, [panel.slug for panel in panels]])
"""


# The part packages starts the same service of Debian.
@runs.tags(runs.NIGHTLY)
class HorizonTest(base.InstallTestCase):
    service: ClassVar[str] = 'horizon'
    ours: ClassVar[tuple[str, ...]] = (
        *('horizon_volume_opts', 'rbd_volume_options'),
    )
    page: ClassVar[str] = 'dashboard.rst'
    #: The module that a web server loads.
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
        """Request the login page; return the panels for administrators."""
        status, body, panels = self.probe(
            _SITE, self.site, ours=ours, **self.environ
        )
        self.assertEqual('200 OK', status, body)
        self.assertIn('csrfmiddlewaretoken', body)
        return [str(each) for each in panels]

    def test_horizon_runs_alone_with_the_suite_and_without(self) -> None:
        self.check_nothing_else()
        self.check_extra()
        # The path of the test's settings. The documentation sets the rest.
        self.install_as_documented(PYTHONPATH=str(self.folder))
        self.fresh.execute('django-admin', 'check', **self.environ)
        panels = self._panels(*self.ours)
        self.assertIn(_PANEL, panels)
        self.uninstall()
        panels.remove(_PANEL)
        self.assertEqual(panels, self._panels())

    def uninstall(self) -> None:
        """Remove the link and the suite, and rebuild the static files."""
        enabled = self.fresh.site / 'openstack_dashboard/local/enabled'
        (enabled / _ENABLED).unlink()
        super().uninstall()
        admin = self.fresh.program('django-admin')
        self.fresh.execute(
            admin, 'collectstatic', '--noinput', '--clear', **self.environ
        )
        self.fresh.execute(admin, 'compress', '--force', **self.environ)
