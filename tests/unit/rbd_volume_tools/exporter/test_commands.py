# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.exporter.commands.

The functional tests run the server.
"""

import importlib
from importlib import metadata
import io
import os
import pathlib
import signal
import socket
import subprocess
import sys
from unittest import mock

import ddt
import fixtures

from rbd_volume_tools import shell
from rbd_volume_tools.audit import ceph_cluster
from tests import tree
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import stubs

#: Runs the server with an audit that never ends, as after lost operations.
_STUCK = """
import threading
from concurrent import futures
from importlib import metadata
import sys
metadata.version = lambda name: '1'
from tests import checkout_commands
checkout_commands.find()
from rbd_volume_tools.audit import command_options as audit_options
from rbd_volume_tools.exporter import commands as exporter
from rbd_volume_tools import shell

def audited(*arguments):
    with futures.ThreadPoolExecutor(1) as executor:
        print('stuck', flush=True)
        executor.submit(threading.Event().wait).result()

audit_options.audited = audited
exporter._PATIENCE = 0.1
sys.exit(shell.main(['exporter', '--no-cloud', '--port', '0']))
"""


@ddt.ddt
class ExporterTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pool = stubs.Pool('somebody')
        cluster = stubs.cluster(self.pool)
        for owner, name, returned in (
            (ceph_cluster, 'connected', cluster),
            (metadata, 'version', '1'),
        ):
            patch = mock.patch.object(
                owner, name, autospec=True, return_value=returned
            )
            patch.start()
            self.addCleanup(patch.stop)
        self.err = io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', io.StringIO()))
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', self.err))
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = folder / 'rbd.prom'

    def export(self, *words: str) -> int:
        return shell.main(['exporter', '--no-cloud', *words])

    def test_text_file_holds_metrics(self) -> None:
        self.assertEqual(0, self.export('--textfile', str(self.path)))
        text = self.path.read_text()
        self.assertIn('rbd_audit_up 1.0', text)
        self.assertIn(
            'rbd_audit_images{object_map="none",owner="unknown",'
            'pool="volumes",volume_type=""} 1.0',
            text,
        )

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
