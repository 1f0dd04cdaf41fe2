# SPDX-License-Identifier: Apache-2.0

"""Tests for commands that change existing images, with the cloud's records."""

import json
import pathlib
import subprocess
from typing import Any
import uuid

import fixtures

from tests.cloud import base
from tests.cloud import documented


class MaintenanceTest(base.CloudTestCase):
    """``cinder-rbd-ext object-map`` and ``cinder-rbd-ext clean``."""

    def run_command(self, *words: str, status: int) -> dict[str, Any]:
        """Run a command as the operator; return its rows by image."""
        environ = 'eval "$(tools/sandbox env --cloud admin)"'
        command = f'cinder-rbd-ext {" ".join(words)} -f json'
        done = subprocess.run(
            ['bash', '-euc', f'{environ}; {command} --ceph-user admin'],
            cwd=documented.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        self.assertEqual(status, done.returncode, done.stderr)
        return {row['Image']: row for row in json.loads(done.stdout)}

    def journal(self, name: str) -> str:
        """Return a path for a journal."""
        folder = self.useFixture(fixtures.TempDir()).path
        return str(pathlib.Path(folder, name))

    def features(self, volume: str) -> set[str]:
        """Return the features of a volume's image in the stock pool."""
        shown = subprocess.check_output(
            ['rbd', 'info', '--format', 'json', f'volumes2/volume-{volume}']
        )
        return set(json.loads(shown)['features'])

    def test_plan_has_nothing_that_is_unproven_or_young(self) -> None:
        healthy = self.created()
        orphan = f'volume-{uuid.uuid4()}'
        spec = f'volumes/{orphan}'
        subprocess.run(['rbd', 'create', '--size', '1', spec], check=True)
        self.addCleanup(subprocess.run, ['rbd', 'rm', spec], check=True)
        ident = json.loads(
            subprocess.check_output(['rbd', 'info', '--format', 'json', spec])
        )['id']
        plan = self.journal('plan.json')
        words = ('clean', 'plan', '--pool', 'volumes', '-o', plan)
        rows = self.run_command(*words, status=0)
        self.assertEqual('owner unknown', rows[orphan]['Status'])
        self.assertNotIn(f'volume-{healthy}', rows)
        approvals = pathlib.Path(self.journal('approvals'))
        approvals.write_text(f'volumes/{ident}\n')
        other = ('clean', 'plan', '--pool', 'volumes', '-o', f'{plan}.2')
        rows = self.run_command(*other, '--approve', str(approvals), status=1)
        self.assertEqual('refused', rows[orphan]['Status'])
        self.assertIn('sign of life', rows[orphan]['Detail'])
        rows = self.run_command('clean', 'apply', plan, status=0)
        self.assertEqual({}, rows)
