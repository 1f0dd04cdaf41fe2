# SPDX-License-Identifier: Apache-2.0

"""The documented benchmark commands, on amounts too small to measure."""

import csv
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import ddt
import fixtures

from tests import runs
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

    def _table(self, path: pathlib.Path) -> list[list[str]]:
        """Return a table that has the columns and rows of the page's file."""
        with path.open(newline='') as file:
            rows = list(csv.reader(file))
        with (_PAGES.parent / 'measured' / path.name).open() as file:
            shown = list(csv.reader(file))
        self.assertLessEqual(set(rows[0]), set(shown[0]))
        return rows

    def test_driver_benchmark(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        shown = self._run(
            'performance.rst',
            'driver',
            *('--runs', '1', '--workers', '1', '--csv', str(folder)),
        )
        attached = re.findall(
            r'first attachments, ms: .* ratio ([\d.]+)', shown
        )
        self.assertGreater(float(*attached), 1)
        for name in ('calls', 'requests'):
            header, *rows = self._table(folder / f'driver-{name}.csv')
            self.assertIn('Clone a volume', [row[0] for row in rows])
            self.assertEqual({len(header)}, {len(row) for row in rows})
        self.assertEqual([], ceph.shared_cluster().names('volumes'))

    def test_deletion_benchmark(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        shown = self._run(
            'performance.rst',
            'deletion',
            *('--sizes', '1', '--written', '0', '4', '--at-once', '1', '2'),
            *('--csv', str(folder / 'deletion.csv')),
        )
        for object_map in ('none', 'valid', 'invalid'):
            line = rf'(?m)^1 +4 +2 +{object_map} +[\d.]+ +[\d.]+ +[\d.]+$'
            self.assertRegex(shown, line)
        _, *rows = self._table(folder / 'deletion.csv')
        self.assertEqual(
            ['1 GiB, empty', '1 GiB, 4 MiB'], [row[0] for row in rows]
        )
        self.assertEqual([], ceph.shared_cluster().names('volumes'))

    @runs.tags(runs.NIGHTLY)
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
            line = rf'(?m)^{name} .*ratio [\d.]+$'
            self.assertRegex(shown, line)
        self.assertEqual([], ceph.shared_cluster().names('images'))
