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
