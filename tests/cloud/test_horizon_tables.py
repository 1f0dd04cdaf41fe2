# SPDX-License-Identifier: Apache-2.0

"""The dashboard with Python tables in place of Angular panels.

A second dashboard runs beside that of the sandbox, with the same sessions and
static files, and with ``ANGULAR_FEATURES`` off.
"""

import contextlib
import pathlib
import socket
import subprocess
import uuid

import fixtures

from sandbox_cloud import state
from tests import runs
from tests.cloud import base
from tests.cloud import volume_form

_PORT = 8001
_OFF = """
from openstack_dashboard import defaults as _defaults
ANGULAR_FEATURES = dict.fromkeys(_defaults.ANGULAR_FEATURES, False)
"""


@runs.tags(runs.RELEASES)
class TablesTest(volume_form.FormTestCase):
    def start(self) -> None:
        """Start the second dashboard, and use it until the test ends."""
        place = state.State(state.default_root())
        theirs = place.etc / 'horizon'
        ours = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        package = ours / 'local'
        package.mkdir()
        (package / '__init__.py').touch()
        settings = (theirs / 'local' / 'local_settings.py').read_text()
        (package / 'local_settings.py').write_text(settings + _OFF)
        ini = (theirs / 'uwsgi.ini').read_text()
        (ours / 'uwsgi.ini').write_text(ini.replace(':8000', f':{_PORT}'))
        program = place.venv(base.release()) / 'bin' / 'uwsgi'
        with (ours / 'log').open('wb') as log:
            process = subprocess.Popen(
                [str(program), '--ini', str(ours / 'uwsgi.ini')],
                env={
                    'DJANGO_SETTINGS_MODULE': 'openstack_dashboard.settings',
                    'LANG': 'C.UTF-8',
                    'PYTHONPATH': str(ours),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.dashboard = f'http://127.0.0.1:{_PORT}'

        def listens() -> bool:
            self.assertIsNone(process.poll(), (ours / 'log').read_text())
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', _PORT)).close()
                return True
            return False

        self.until(listens)

    def test_volume_from_the_table_of_images(self) -> None:
        image = self.tenant.image.find_image('tiny', ignore_missing=False)
        self.start()
        self.open('/project/images/')
        # The panel of Angular has no such table.
        self.find(f'[id="images__row__{image.id}"]')
        self.open_dialog(f'/project/volumes/create/?image_id={image.id}')
        name = f'table-{uuid.uuid4().hex[:8]}'
        self.fill('.modal.in #id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.choose('#id_rbd_object_size', '1 MiB')
        self.until_summary('1 MiB')
        self.screenshot('python-tables')
        self.submit()
        self.assertEqual(2**20, self.info(self.named(name))['object_size'])
        self.check_quiet()
