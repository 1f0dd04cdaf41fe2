# SPDX-License-Identifier: Apache-2.0

"""Refused requests of tenants on the command line.

Each kind of refusal is tested in test_api_refusals. These tests check
that the client shows the reason. Refusals by the driver, without the API
extension, are tested with the driver.
"""

import subprocess

from tests import runs
from tests.cloud import base


@runs.tags(runs.RELEASES)
class RefusalTest(base.CloudTestCase):
    """A refusal shows its reason at once and leaves no volume."""

    def _create(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                *('openstack', '--os-cloud', 'demo', 'volume', 'create'),
                *('--type', 'rbd', '--size', '1', *arguments, 'refused'),
            ],
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(0, done.returncode, done.stdout)
        return done.stderr

    def test_told_by_the_command(self) -> None:
        before = (base.images('volumes'), base.images('volumes2'))
        said = self._create('--property', 'rbd:object_size=3M')
        self.assertIn('a power of two from 4 KiB to 32 MiB', said)
        said = self._create('--property', 'rbd:stripes=8')
        self.assertIn('unknown key', said)
        listed = self.request('GET', '/volumes?name=refused')
        self.assertEqual([], listed['volumes'])
        self.assertEqual(
            before, (base.images('volumes'), base.images('volumes2'))
        )
