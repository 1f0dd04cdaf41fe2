# SPDX-License-Identifier: Apache-2.0

"""The benchmarks that need a cloud. Few of their figures are checked."""

import csv
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import fixtures
import openstack

from rbd_volume_tools.bench import images
from tests import runs
from tests import tree
from tests.cloud import base


class ApiBenchmarkTest(base.CloudTestCase):
    def test_each_step(self) -> None:
        before = self.request('GET', '/volumes', cloud=self.operator)
        done = subprocess.run(
            [
                *(sys.executable, tree.ROOT / 'benchmarks/api.py', '--json'),
                *('--types', 'rbd', '--volumes', '3', '--repetitions', '1'),
            ],
            env={**os.environ, 'OS_CLOUD': 'admin'},
            stdout=subprocess.PIPE,
            check=True,
        )
        (run,) = json.loads(done.stdout)['runs']['rbd']
        self.assertEqual(
            ['create', 'attach', 'detach', 'clone', 'delete'], list(run)
        )
        self.assertEqual(
            before, self.request('GET', '/volumes', cloud=self.operator)
        )


class _BootImage(fixtures.Fixture):
    """A Glance image with fio, until the end of the test."""

    name = 'bench-servers'

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def _setUp(self) -> None:
        connection: Any = openstack.connect(cloud='admin')
        made = connection.create_image(
            self.name,
            filename=self._path,
            disk_format='raw',
            container_format='bare',
            wait=True,
        )
        self.addCleanup(connection.delete_image, made.id)


# Measurements, for minutes.
@runs.tags(runs.NIGHTLY)
class GuestBenchmarksTest(base.CloudTestCase):
    timeout = 900

    def measured(self, program: str, *words: str) -> Any:
        """Run a benchmark; return its results."""
        folder = self.useFixture(fixtures.TempDir()).path
        results = pathlib.Path(folder, 'results')
        subprocess.run(
            [
                *(sys.executable, str(tree.ROOT / f'benchmarks/{program}.py')),
                *('--json', str(results), *words),
            ],
            env={**os.environ, 'OS_CLOUD': 'admin'},
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(results.read_text())

    def test_limits_in_a_guest(self) -> None:
        """A guest on a busy machine can be slower than a limit."""
        results = self.measured(
            'guest_limits', *('--runtime', '4', '--changes', '1')
        )
        for name, difference in results['differences'].items():
            self.assertLess(difference, 0.1, name)
        for name, seconds in results['seconds'].items():
            self.assertLess(max(seconds), 30, name)

    def test_disks_of_three_servers(self) -> None:
        """The smallest sizes of the documented command."""
        folder = self.useFixture(fixtures.TempDir()).path
        path = subprocess.check_output(
            [str(tree.ROOT / 'tools/sandbox'), 'guest-image', '--with-fio'],
            text=True,
        ).strip()
        image = self.useFixture(_BootImage(path)).name
        shown = subprocess.run(
            [
                *(sys.executable, '-m', 'tests.checkout_program'),
                *('bench', 'servers'),
                *('--pool', 'volumes', '--ceph-user', 'admin'),
                *('--server-image', image, '--flavor', 'small'),
                *('--no-user-data', '--volume-type', 'rbd'),
                *('--cache-modes', 'none', '--access', 'buffered'),
                *('--sizes', '1', '1', '1', '--repetitions', '1'),
                *('--runtime', '2', '--workers', '2', '--file-size', '4'),
                *('--dd-small', '8', '--dd-large', '32', '--output', folder),
            ],
            cwd=tree.ROOT,
            env={**os.environ, 'OS_CLOUD': 'admin'},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, shown.returncode, shown.stdout)
        with pathlib.Path(folder, 'servers.csv').open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(
            {'buffered, alone', 'buffered, together'},
            {row['Run'] for row in rows},
        )
        for row in rows:
            self.assertGreater(float(row['MB/s']), 0)
        left = self.request('GET', '/volumes', cloud=self.operator)
        self.assertEqual([], [
            x for x in left['volumes'] if x['name'].startswith(images.PREFIX)
        ])  # fmt: skip
