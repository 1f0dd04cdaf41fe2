# SPDX-License-Identifier: Apache-2.0

"""Run the audit of existing images as an operator."""

import json
import shlex
import subprocess
import uuid

from tests.cloud import base
from tests.cloud import documented


def run(case: base.CloudTestCase, *options: str) -> str:
    """Run the audit, check that it was done, and return its output."""
    environ = 'eval "$(tools/sandbox env --cloud admin)"'
    command = f'cinder-rbd-ext audit --ceph-user admin {shlex.join(options)}'
    done = subprocess.run(
        ['bash', '-euc', f'{environ}; {command}'],
        cwd=documented.ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    case.assertIn(done.returncode, (0, 1, 2), done.stderr)
    return done.stdout


class AuditTest(base.CloudTestCase):
    """Tests for ``cinder-rbd-ext audit`` on the cloud's volumes."""

    def audit(self) -> set[tuple[str, str]]:
        """Run the audit; return the kind and the image of each finding."""
        rows = json.loads(run(self, '-f', 'json'))
        return {(row['Kind'], row['Image']) for row in rows}

    def test_orphan_and_volume_without_image(self) -> None:
        healthy = self.created(metadata=base.ASKED)
        clone = self.created(source_volid=healthy)
        self.snapshot(clone)
        lost = self.created()
        subprocess.run(
            ['rbd', 'rm', '--no-progress', f'volumes/volume-{lost}'],
            check=True,
        )
        orphan = f'volume-{uuid.uuid4()}'
        spec = f'volumes/{orphan}'
        subprocess.run(['rbd', 'create', '--size', '1', spec], check=True)
        self.addCleanup(subprocess.run, ['rbd', 'rm', spec], check=True)
        reported = self.audit()
        self.assertIn(('orphan-volume', orphan), reported)
        self.assertIn(('volume-without-image', f'volume-{lost}'), reported)
        ours = (healthy, clone)
        self.assertEqual(
            [], [each for each in reported if any(i in each[1] for i in ours)]
        )
