# SPDX-License-Identifier: Apache-2.0

"""Tests for ``cinder-rbd-ext retype``."""

import json
import pathlib
import subprocess
from typing import Any

import fixtures

from tests import runs
from tests.cloud import base
from tests.cloud import documented

# The user that reads the health of the cluster.
_CEPH = ('--ceph-user', 'admin')
_STRIPED = {
    'rbd_stripe_unit': '64K',
    'rbd_stripe_count': '8',
    'rbd_object_map': 'true',
}
_HOST = {'mountpoint': '/dev/vdb', 'host_name': 'host'}


class RetypesTest(base.CloudTestCase):
    """Many volumes get another layout."""

    def run_command(
        self, *words: str, status: int
    ) -> dict[str, dict[str, Any]]:
        """Run a command as the operator; return its rows by volume."""
        environ = 'eval "$(tools/sandbox env --cloud admin)"'
        command = f'exec cinder-rbd-ext retype {" ".join(words)} -f json'
        done = subprocess.run(
            ['bash', '-euc', f'{environ}; {command}'],
            cwd=documented.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        self.assertEqual(status, done.returncode, done.stderr)
        return {row['Volume']: row for row in json.loads(done.stdout)}

    def planned(self, *words: str) -> str:
        """Make a plan and return its path."""
        plan = str(pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'p'))
        self.run_command('plan', '-o', plan, *words, status=0)
        return plan

    def retype(self, *words: str, status: int) -> dict[str, dict[str, Any]]:
        """Plan retypes and make them; return the rows by volume."""
        plan = self.planned(*words)
        return self.run_command('apply', plan, *_CEPH, status=status)

    def test_attached_volume(self) -> None:
        """Its layout is not changed; its features are, without a layout."""
        former = self.make_type(rbd_object_map='false')
        target = self.make_type(**_STRIPED)
        mapped = self.make_type(rbd_object_map='true')
        volume = self.created(volume_type=former)
        self.action(volume, self.operator, **{'os-attach': _HOST})
        detach: dict[str, Any] = {'os-detach': {}}
        self.addCleanup(self.action, volume, self.operator, **detach)
        rows = self.retype(
            *('--from', former, '--to', target, volume), status=1
        )
        self.assertIn('detach the volume', rows[volume]['Detail'])
        self.retype(*('--from', former, '--to', mapped, volume), status=0)
        self.assertIn('object-map', self.info(volume)['features'])
        # A type can be deleted only when no volume has it.
        self.action(volume, self.operator, **detach)

    @runs.tags(runs.NIGHTLY)
    def test_stock_back_end(self) -> None:
        """Only a migration by Cinder moves a volume to another pool."""
        stock = self.make_type(volume_backend_name='stock')
        target = self.make_type(**_STRIPED)
        volume = self.created(volume_type=stock)
        words = ('--from', stock, '--to', target, volume)
        rows = self.retype(*words, status=1)
        self.assertEqual('refused', rows[volume]['Status'])
        self.retype(*words, '--migration-policy', 'on-demand', status=0)
        self.assertEqual(8, self.info(volume)['stripe_count'])
