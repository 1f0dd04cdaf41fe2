# SPDX-License-Identifier: Apache-2.0

"""Plans that are applied twice at once, interrupted, or elsewhere."""

import json
import signal
import subprocess
import time

import rbd

from tests.functional.maintenance import object_map_case
from tests.functional.maintenance import test_audit_command

_NUMBER = 6


class AppliedPlansTest(object_map_case.ObjectMapTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.names = [
            self.volume(object_map_case.PLAIN) for _ in range(_NUMBER)
        ]
        self.plan = self.folder / 'plan'
        status, _ = self.planned('enable', '--volumes')
        self.assertEqual(0, status, self.messages)

    def apply(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Apply the plan."""
        return self.run_command('object-map', 'apply', str(self.plan), *words)

    def begun(self, *words: str) -> 'subprocess.Popen[str]':
        """Apply the plan slowly, and wait until a change has begun."""
        process = self.start_command(
            *('object-map', 'apply', str(self.plan)),
            *('--per-minute', '60', *words),
        )
        self.addCleanup(process.kill)
        journal = self.folder / 'plan.journal'
        while not journal.exists() or 'begun' not in journal.read_text():
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        return process

    def check_maps(self) -> None:
        for name in self.names:
            self.assertTrue(self.has_map(name))
            self.assertEqual({0}, self.flags(name))

    def test_second_run_is_refused_and_does_no_harm_with_its_own_journal(
        self,
    ) -> None:
        first = self.begun()
        second = self.apply()
        self.assertEqual(3, second.returncode, second.stderr)
        self.assertIn('is in use by another run', second.stderr)
        other = self.apply('--journal', str(self.folder / 'other'))
        self.assertIn(other.returncode, (0, 1), other.stderr)
        _, messages = first.communicate()
        self.assertIn(first.returncode, (0, 1), messages)
        for text in (messages, other.stderr):
            self.assertNotIn('Traceback', text)
        self.check_maps()

    def test_interrupted_run_ends_after_its_image_and_continues(self) -> None:
        process = self.begun()
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate()
        self.assertEqual(3, process.returncode, messages)
        self.assertIn('Stopping after the current image', messages)
        self.assertLess(len(json.loads(output)), _NUMBER)
        again = self.apply()
        self.assertEqual(0, again.returncode, again.stderr)
        statuses = {row['Status'] for row in json.loads(again.stdout)}
        self.assertEqual({'done', 'done earlier'}, statuses)
        self.check_maps()

    def test_plan_of_another_cluster_is_refused(self) -> None:
        first, *others = self.plan.read_text().splitlines()
        header = {**json.loads(first), 'cluster': 'other'}
        self.plan.write_text('\n'.join([json.dumps(header), *others]))
        done = self.apply()
        self.assertEqual(3, done.returncode, done.stderr)
        # With another header, no item has its seal.
        self.assertIn('Line 2 was changed', done.stderr)
        self.plan.write_text(json.dumps(header))
        done = self.apply()
        self.assertEqual(3, done.returncode, done.stderr)
        self.assertIn('is for the cluster other', done.stderr)
        self.assertFalse(any(map(self.has_map, self.names)))

    def test_user_who_may_only_read_is_told_what_is_missing(self) -> None:
        caps = test_audit_command.documented_caps('audit')
        with self.cluster.user('audit', *caps) as self.conf:
            self.user = 'audit'
            done = self.apply()
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        for row in json.loads(done.stdout):
            self.assertEqual('failed', row['Status'])
            self.assertIn('profile rbd', row['What to do'])
        self.assertFalse(any(map(self.has_map, self.names)))

    def test_names_of_images_are_escaped(self) -> None:
        hostile = 'volume-\x1b[31m\n\u202e.x'
        rbd.RBD().create(self.cluster.ioctx(), hostile, 2**20)
        for words in (
            ('audit', '--pool', 'volumes'),
            ('mark', 'plan', '--pool', 'volumes', '-o', f'{self.plan}.2'),
            ('object-map', 'plan', '--volumes', '-o', f'{self.plan}.3'),
        ):
            done = self.run_command(*words)
            self.assertNotIn('\x1b', done.stdout + done.stderr)
            self.assertNotIn('Traceback', done.stderr)
