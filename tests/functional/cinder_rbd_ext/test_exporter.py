# SPDX-License-Identifier: Apache-2.0

"""The exporter on a real cluster, and the files shipped for its metrics."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request
import uuid

import fixtures
from prometheus_client import parser
import rbd
import testtools
from testtools import content

from rbd_volume_options import features
from tests import tree
from tests.functional import ceph

_MAPPED = features.to_mask({features.LAYERING, *features.MAP_ON})
_PROGRAM = 'tests.checkout_program'
_Values = dict[tuple[str, ...], float]


def _parsed(text: str) -> _Values:
    """Return the values by metric and label values, in label order."""
    return {
        (
            sample.name,
            *(sample.labels[key] for key in sorted(sample.labels)),
        ): (sample.value)
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


class ExporterTest(testtools.TestCase):
    """``cinder-rbd-ext exporter``."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.command = [
            *(sys.executable, '-m', _PROGRAM, 'exporter', '--no-cloud'),
            *('--pool', 'volumes'),
            *('--ceph-conf', self.cluster.conf, '--ceph-user', 'admin'),
        ]
        self.environ = {**os.environ, 'PYTHONPATH': str(tree.ROOT)}
        for name, mask in (
            (f'volume-{uuid.uuid4()}', _MAPPED),
            (f'volume-{uuid.uuid4()}.deleted', 1),
        ):
            rbd.RBD().create(
                self.cluster.ioctx(),
                name,
                2**23,
                old_format=False,
                features=mask,
            )

    def check(self, values: _Values) -> None:
        """Check the values of both images."""
        expected = {
            ('rbd_audit_up',): 1,
            ('rbd_audit_images', 'valid', 'volume', 'volumes', ''): 1,
            ('rbd_audit_images', 'none', 'deleted_source', 'volumes', ''): 1,
            (
                *('rbd_audit_provisioned_bytes', 'valid'),
                *('volume', 'volumes', ''),
            ): 2**23,
            ('rbd_audit_deletion_objects', 'deleted_source', 'volumes'): 2,
            (
                *('rbd_audit_findings', 'deleted-source-not-needed'),
                *('volumes', 'warning'),
            ): 1,
            ('rbd_audit_findings', 'half-removed', 'volumes', 'error'): 0,
        }
        self.assertEqual(expected, {key: values.get(key) for key in expected})

    def test_writes_text_file_and_nothing_else(self) -> None:
        folder = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(folder, 'rbd.prom')
        done = subprocess.run(
            [*self.command, '--textfile', str(path)], env=self.environ
        )
        self.assertEqual(0, done.returncode)
        self.check(_parsed(path.read_text()))
        self.assertEqual([path], list(pathlib.Path(folder).iterdir()))

    def test_server_and_a_cluster_that_does_not_respond(self) -> None:
        command = [*self.command, '--port', '0', '--interval', '1']
        log = pathlib.Path(self.useFixture(fixtures.TempDir()).join('log'))
        with log.open('w') as stderr:
            running = subprocess.Popen(
                [*command, '--ceph-timeout', '2'],
                env=self.environ,
                stderr=stderr,
            )
        self.addCleanup(
            lambda: self.addDetail(
                'log', content.text_content(log.read_text())
            )
        )
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        while not log.read_text().endswith('\n'):
            self.assertIsNone(running.poll())
            time.sleep(0.05)
        self.port = log.read_text().split()[-1]
        self.check(self.when(1))
        with self.cluster.daemons.paused('osd'):
            began = time.monotonic()
            values = self.when(0)
            # The last values are kept, and scrapes do not wait for the
            # cluster.
            self.assertIn(
                ('rbd_audit_images', 'valid', 'volume', 'volumes', ''), values
            )
            self.assertLess(1, values[('rbd_audit_age_seconds',)])
            self.assertLess(time.monotonic() - began, 60)
        self.check(self.when(1))
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(60))

    def when(self, up: int) -> _Values:
        """Return the metrics when ``rbd_audit_up`` has the given value."""
        deadline = time.monotonic() + 60
        while True:
            with urllib.request.urlopen(
                f'http://127.0.0.1:{self.port}/metrics', timeout=10
            ) as answer:
                values = _parsed(answer.read().decode())
            if (
                values[('rbd_audit_up',)] == up
                and ('rbd_audit_age_seconds',) in values
            ):
                return values
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
