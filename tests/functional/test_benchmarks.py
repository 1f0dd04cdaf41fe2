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

"""The benchmarks, as the pages say, on amounts that measure nothing."""

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

from tests import tree
from tests.cloud import documented
from tests.functional import ceph
from tests.unit import base

_PAGES = tree.ROOT / 'doc/source/admin'
_RATIO = re.compile(r'(.+?) +[\d.]+/s +x [\d.]+')
#: What stands there, and what is here.
_VARIANTS = ('4 MiB objects (stock)', 'with object map', 'writeback')
_TRANSFERS = ('upload', 'upload-sparse-thin', 'download')


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@ddt.ddt
class BenchmarksTest(base.TestCase):
    timeout = 300

    def _run(self, page: str, *smaller: str) -> str:
        (command,) = (
            found.text
            for found in documented.commands(_PAGES / page)
            if 'benchmarks/' in found.text
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
        if '--plots' in words:
            self.plots = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
            words[words.index('--plots') + 1] = str(self.plots)
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

    def test_volume_options(self) -> None:
        shown = self._run('performance.rst', '--runs', '1', '--scale', '0.004')
        ratios = {
            found[1].strip()
            for line in shown.splitlines()
            if (found := _RATIO.fullmatch(line))
        }
        self.assertLessEqual(set(_VARIANTS), ratios, shown)
        drawn = {each.name for each in self.plots.iterdir()}
        self.assertEqual(
            {'layouts.svg', 'object-map.svg', 'cache-modes.svg'}, drawn
        )
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
            # A shell's job in the background ignores it otherwise.
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
            'images.rst', '--runs', '1', '--size', '8', '--at-once', '2'
        )
        for name in _TRANSFERS:
            line = rf'(?m)^{name} .*ratio [\d.]+ of at most [\d.]+$'
            self.assertRegex(shown, line)
        self.assertEqual([], ceph.shared_cluster().names('images'))
