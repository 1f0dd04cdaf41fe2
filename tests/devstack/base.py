# SPDX-License-Identifier: Apache-2.0

"""A DevStack tree for each test, and the changes of the plug-in."""

import pathlib

import fixtures

from tests.devstack import scratch
from tests.unit import base

EXTENSION = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'
DRIVER = 'volume_driver = cinder_rbd_ext.driver.RBDExtDriver\n'
ENABLED = 'horizon/openstack_dashboard/local/enabled'


class DevStackTestCase(base.TestCase):
    """Create a DevStack tree for each test."""

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.tree = scratch.DevStackTree(pathlib.Path(folder))

    def changed(self, before: dict[str, str]) -> set[str]:
        """Return the files that differ from a snapshot."""
        after = self.tree.snapshot()
        return {
            name
            for name in {*before, *after}
            if before.get(name) != after.get(name)
        }
