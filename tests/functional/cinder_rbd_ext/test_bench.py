# SPDX-License-Identifier: Apache-2.0


"""Benchmarks on a real cluster, too short for a meaningful result."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import time

import ddt
import fixtures
import rbd
import testtools

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import report
from rbd_volume_tools.bench import results
from tests import runs
from tests import tree
from tests.functional import ceph
from tests.functional import filling

_PROGRAM = 'tests.checkout_program'
_PATIENCE = 300
_TINY = ('--short', '--warm-up', '0', '--runtime', '1', '--image-size', '16M')


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Continuous integration runs a plan, a limit and an interruption.
@runs.tags(runs.NIGHTLY)
@ddt.ddt
class BenchTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        # An image that the benchmark may not remove.
        rbd.RBD().create(self.cluster.ioctx(), 'volume-1', 2**20)
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def start(self, name: str, *words: str) -> 'subprocess.Popen[str]':
        """Start a benchmark of a plan."""
        child = subprocess.Popen(
            [
                *(sys.executable, '-m', _PROGRAM, 'bench', 'run', name),
                *('--pool', 'volumes', '--ceph-user', 'admin'),
                *('--ceph-conf', self.cluster.conf, '--limit', '64M'),
                *('--output', str(self.folder), *_TINY, *words),
            ],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A background job of a shell ignores SIGINT otherwise.
            preexec_fn=_hear_interrupts,
        )
        self.addCleanup(self._end, child)
        return child

    def _end(self, child: 'subprocess.Popen[str]') -> None:
        with child:
            child.kill()

    def finish(self, child: 'subprocess.Popen[str]') -> str:
        """Wait for the end of a benchmark and return its output."""
        shown, _ = child.communicate(timeout=_PATIENCE)
        self.assertEqual(0, child.returncode, shown)
        self.assertEqual(['volume-1'], self.cluster.names())
        return shown

    def select(self, *words: str) -> list[str]:
        return [part for word in words for part in ('--select', word)]

    def measured(self, number: int) -> results.Results:
        """Check the number of measured combinations and return the results."""
        measured = results.load(self.folder)
        errors = {each.error for each in measured.samples if each.error}
        self.assertEqual(set(), errors)
        self.assertEqual(number, len(measured.done()))
        with (self.folder / report.FIGURES).open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(number, len(rows))
        for row in rows:
            self.assertGreater(float(row['Median']), 0)
        return measured

    @runs.tags()
    def test_cern_plan_is_compared_with_its_report(self) -> None:
        words = self.select(
            *('workload=16K write', 'workload=4K write one by one'),
            *('layout=stock', 'layout=64 KiB x 8', 'layout=default'),
            *('cache_mode=none', 'cache_mode=writeback'),
        )
        self.finish(self.start('cern-2013', *words))
        measured = self.measured(4)
        self.assertEqual(1, measured.environment['osds'])
        ratios = {str(row[0]): row[3] for row in report.published(measured)}
        for name, ratio in ratios.items():
            if name.startswith(('striping', 'writeback small writes:')):
                self.assertNotEqual('-', ratio, name)

    def test_ceph_plan_measures_read_latency(self) -> None:
        words = self.select(
            *('workload=16K random read', 'io_thread=off', 'allocator=libc'),
            *('cache_mode=none', 'cache_mode=writeback'),
        )
        self.finish(self.start('ceph-2022', *words))
        measured = self.measured(2)
        for sample in measured.samples:
            self.assertGreater(sample.rate, 0)
            self.assertIn('read_ms_p99', sample.detail)

    def test_option_of_the_pool(self) -> None:
        rbd.RBD().pool_metadata_set(
            self.cluster.ioctx(), 'conf_rbd_cache', 'false'
        )
        self.addCleanup(
            rbd.RBD().pool_metadata_remove,
            self.cluster.ioctx(),
            'conf_rbd_cache',
        )
        words = self.select(
            *('run=caches', 'workload=4K write one by one'),
            *('cache_mode=writeback', 'path=qemu'),
        )
        self.finish(self.start('cern-2013', *words))
        pool = self.measured(1).environment['pool']
        self.assertEqual({'conf_rbd_cache': 'false'}, pool['overrides'])
        text = (self.folder / report.REPORT).read_text()
        self.assertIn('| pool.overrides.conf_rbd_cache | false |', text)

    def test_encrypted_messages(self) -> None:
        words = self.select('run=librbd', 'allocator=libc')
        self.finish(self.start('ceph-2022', *words))
        self.measured(2)

    @runs.tags()
    def test_object_map_deletes_faster(self) -> None:
        words = self.select('size=20G', 'features=with object map')
        words += self.select('features=without object map')
        self.finish(self.start('switch-object-map', *words))
        fast, slow = (
            [x.rate for x in self.measured(2).samples if text in x.cell]
            for text in ('=with object', '=without object')
        )
        self.assertGreater(fast, slow)

    def wait_for_image(self, child: 'subprocess.Popen[str]') -> None:
        while len(self.cluster.names()) < 2:
            self.assertIsNone(child.poll())
            time.sleep(0.05)

    @runs.tags()
    @ddt.data(signal.SIGINT, signal.SIGTERM)
    def test_signal_removes_images_of_the_run(
        self, number: signal.Signals
    ) -> None:
        child = self.start('ceph-2022', '--runtime', '60')
        self.wait_for_image(child)
        child.send_signal(number)
        shown, _ = child.communicate(timeout=_PATIENCE)
        self.assertEqual(1, child.returncode, shown)
        self.assertIn('Interrupted', shown)
        self.assertEqual(['volume-1'], self.cluster.names())

    def test_interrupted_twice_without_an_answer_of_the_cluster(self) -> None:
        child = self.start('ceph-2022', '--runtime', '60')
        # The first image is only created and removed.
        while not (self.folder / results.FILE).exists():
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        self.wait_for_image(child)
        monitor = filling.Monitor(self.cluster)
        self.addCleanup(monitor.resume)
        monitor.pause()
        child.send_signal(signal.SIGINT)
        # Only now the second one counts.
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        shown, _ = child.communicate(timeout=30)
        self.assertEqual(1, child.returncode, shown)
        self.assertRegex(shown, f'Not removed: volumes/{images.PREFIX}')
        monitor.resume()

    def test_killed_and_continued(self) -> None:
        # Without this the image of a killed client stays locked for half a
        # minute.
        timeout = ('osd', 'osd_client_watch_timeout')
        self.cluster.daemons.command('config', 'set', *timeout, '3')
        self.addCleanup(self.cluster.daemons.command, 'config', 'rm', *timeout)
        loads = ('depth 1', 'depth 4', 'depth 16', 'depth 4 x 2 jobs')
        words = self.select('run=depth', *(f'workload={x}' for x in loads))
        child = self.start('ceph-2022', *words)
        file = self.folder / results.FILE
        while not (file.exists() and results.load(self.folder).samples):
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        child.kill()
        child.communicate()
        before = results.load(self.folder).samples
        (left,) = set(self.cluster.names()) - {'volume-1'}
        self.assertTrue(left.startswith(images.PREFIX))
        shown = self.finish(self.start('ceph-2022', *words))
        self.assertIn(f'Removing {left}', shown)
        measured = self.measured(len(loads))
        self.assertEqual(before, measured.samples[: len(before)])

    @runs.tags()
    def test_limit_prevents_writing(self) -> None:
        child = self.start('cern-2013', '--image-size', '65M')
        shown, _ = child.communicate(timeout=_PATIENCE)
        self.assertEqual(1, child.returncode)
        self.assertIn('--limit', shown)
        self.assertEqual(['volume-1'], self.cluster.names())
