# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.exporter.commands.

The functional tests run the server.
"""

import importlib
import io
import os
import signal
import socket
import subprocess
import sys
from unittest import mock

import ddt

from tests import tree
from tests.unit.rbd_volume_tools.fleet import commands

#: Runs the server with an audit that never ends, as after lost operations.
_STUCK = """
import threading
from concurrent import futures
from importlib import metadata
import sys
metadata.version = lambda name: '1'
from tests import checkout_commands
checkout_commands.find()
from rbd_volume_tools.audit import run
from rbd_volume_tools.exporter import commands as exporter
from rbd_volume_tools import shell

def audited(*arguments, **options):
    with futures.ThreadPoolExecutor(1) as executor:
        print('stuck', flush=True)
        executor.submit(threading.Event().wait).result()

run.of_options = audited
sys.exit(shell.main(['exporter', '--no-cloud', '--port', '0']))
"""


@ddt.ddt
class ExporterTest(commands.CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.path.with_name('rbd.prom')

    def export(self, *words: str) -> int:
        return self.run_plain('exporter', '--no-cloud', *words)

    def test_file_of_a_failure(self) -> None:
        self.pool.refused = True
        self.assertEqual(3, self.export('--textfile', str(self.path)))
        self.assertIn('rbd_audit_up 0.0', self.path.read_text())
        self.assertIn('The audit failed', self.err.getvalue())

    @ddt.data(('rbd.txt', 3), ('none/rbd.prom', 3))
    @ddt.unpack
    def test_file_that_cannot_be_used(self, name: str, status: int) -> None:
        self.pool.refused = True
        path = self.path.parent / name
        self.assertEqual(status, self.export('--textfile', str(path)))
        # The error is found before the audit.
        self.assertNotIn('The audit failed', self.err.getvalue())

    def test_library_that_is_missing(self) -> None:
        missing = mock.patch.object(
            importlib, 'import_module', autospec=True, side_effect=ImportError
        )
        with missing:
            self.assertEqual(3, self.export())
        self.assertIn('Install prometheus-client', self.err.getvalue())

    def test_address_in_use(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = str(server.getsockname()[1])
            self.assertEqual(3, self.export('--port', port))
        self.assertIn('Cannot listen', self.err.getvalue())

    def test_audit_that_never_ends(self) -> None:
        running = subprocess.Popen(
            [sys.executable, '-c', _STUCK],
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        out = running.stdout or io.BytesIO()
        self.assertEqual(b'stuck\n', out.readline())
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(30))

    @ddt.data('--interval 0', '--ceph-timeout 0', '--port 65536')
    def test_numbers_are_limited(self, words: str) -> None:
        self.assertEqual(3, self.export(*words.split()))
