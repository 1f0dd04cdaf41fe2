# SPDX-License-Identifier: Apache-2.0

"""The documented benchmark commands, on amounts too small to measure."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import ddt
import fixtures

from tests import tree
from tests.cloud import documented
from tests.functional import ceph
from tests.unit import base

_PAGES = tree.ROOT / 'doc/source/admin'
_TRANSFERS = ('upload', 'upload-sparse-thin', 'download')


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@ddt.ddt
class BenchmarksTest(base.TestCase):
    timeout = 600

    def _run(self, page: str, program: str, *smaller: str) -> str:
        (command,) = (
            shown.text
            for shown in documented.commands(_PAGES / page)
            if f'benchmarks/{program}.py' in shown.text
        )
        conf = ceph.shared_cluster().conf
        words = [
            {'python3': sys.executable, '/etc/ceph/ceph.conf': conf}.get(
                word, word
            )
            for word in shlex.split(command)
        ]
        # The cluster has one user.
        words[words.index('--user') + 1] = 'admin'
        done = subprocess.run(
            [*words, *smaller],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        return done.stdout

    def test_driver_benchmark(self) -> None:
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'j'
        shown = self._run(
            'performance.rst',
            'driver',
            *('--runs', '1', '--workers', '1'),
            *('--json', str(target)),
        )
        measured = json.loads(target.read_text())
        self.assertRegex(shown, r'first attachments, ms: .* ratio [\d.]+')
        self.assertGreater(measured['first attachments']['ratio'], 1)
        for step in ('create', 'clone', 'statistics', 'delete'):
            self.assertIn(step, shown)
            self.assertGreater(measured['times']['1'][step]['ratio'], 0)
            self.assertIn('opens', measured['counts']['ours'][step])
            requests = measured['counts']['stock'][step]
            self.assertGreater(requests['osd'] + requests['monitor'], 0)
        self.assertEqual([], ceph.shared_cluster().names('volumes'))

    def test_deletion_benchmark(self) -> None:
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'j'
        shown = self._run(
            'performance.rst',
            'deletion',
            *('--sizes', '1', '--written', '0', '4', '--at-once', '1', '2'),
            *('--json', str(target)),
        )
        for object_map in ('none', 'valid', 'invalid'):
            line = rf'(?m)^1 +4 +2 +{object_map} +[\d.]+ +[\d.]+ +[\d.]+$'
            self.assertRegex(shown, line)
        self.assertEqual([], ceph.shared_cluster().names('volumes'))

    @ddt.data(
        ('download', 'bench-source-0', signal.SIGINT),
        ('download', 'bench-source-0', signal.SIGTERM),
        ('upload', 'bench-stock-0', signal.SIGINT),
    )
    @ddt.unpack
    def test_image_transfer_that_is_interrupted(
        self, what: str, image: str, number: signal.Signals
    ) -> None:
        cluster = ceph.shared_cluster()
        command = [sys.executable, 'benchmarks/image_transfer.py']
        command += ['--conf', cluster.conf, '--size', '512', '--only', what]
        with subprocess.Popen(
            command,
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Background jobs of a shell ignore SIGINT by default.
            preexec_fn=_hear_interrupts,
        ) as running:
            while image not in cluster.names('images'):
                self.assertIsNone(running.poll())
                time.sleep(0.05)
            running.send_signal(number)
            self.assertNotEqual(0, running.wait(120))
        self.assertEqual([], cluster.names('images'))

    def test_image_transfer(self) -> None:
        shown = self._run(
            'images.rst',
            'image_transfer',
            *('--runs', '1', '--size', '8', '--at-once', '2'),
        )
        for name in _TRANSFERS:
            line = rf'(?m)^{name} .*ratio [\d.]+ of at most [\d.]+$'
            self.assertRegex(shown, line)
        self.assertEqual([], ceph.shared_cluster().names('images'))
