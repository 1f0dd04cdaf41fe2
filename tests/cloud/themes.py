# SPDX-License-Identifier: Apache-2.0


"""The themes of the dashboard.

Since 2026.1, Horizon that serves compressed files has one style sheet for all
themes, that of the first: the sources of ``{% compress %}``, by which it finds
the compressed file, are the same for each theme. The tests compile the style
sheet of another theme as Horizon does, and use it in the browser.
"""

import functools
import os
import subprocess
from typing import Any

from sandbox_cloud import state

#: The themes that Horizon has.
STOCK = ('default', 'material')

# Since 2026.1; earlier releases have a template.
_SOURCE = 'openstack_dashboard/static/dashboard/scss/themes.scss'
_COMPILE = """
import sys
import django
django.setup()
from django.conf import settings
from django.contrib.staticfiles import finders
from horizon import themes
from horizon.utils import scss_filter
themes._local.theme = sys.argv[1]
files = settings.HORIZON_CONFIG['scss_files']
for name in ('dashboard/scss/themes.scss', *files):
    path = finders.find(name)
    text = open(path).read()
    print(scss_filter.ScssFilter(text, filename=path).input())
"""
# Replaces the style sheet that has the styles of Bootstrap.
_REPLACE = """
for (const sheet of document.styleSheets) {
  if ([...sheet.cssRules].some((rule) => rule.selectorText === '.navbar')) {
    sheet.disabled = true;
  }
}
const style = document.createElement('style');
style.textContent = arguments[0];
document.head.append(style);
"""


def use(driver: Any, theme: str) -> None:
    """Show the open page with a theme; its cookie must be set.

    :param driver: of the browser
    """
    style = stylesheet(theme) if theme != STOCK[0] else ''
    if style:
        driver.execute_script(_REPLACE, style)


@functools.cache
def stylesheet(theme: str) -> str:
    """Return the style sheet of a theme; empty if Horizon serves it."""
    place = state.State(state.default_root())
    venv = place.venv((place.run / 'release').read_text().strip())
    if not list(venv.glob(f'lib/python3*/site-packages/{_SOURCE}')):
        return ''
    done = subprocess.run(
        [str(venv / 'bin' / 'python'), '-c', _COMPILE, theme],
        env={
            **os.environ,
            'DJANGO_SETTINGS_MODULE': 'openstack_dashboard.settings',
            'PYTHONPATH': str(place.etc / 'horizon'),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
