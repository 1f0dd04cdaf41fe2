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

"""Services rendered to a temporary folder; nothing is started."""

import configparser
import pathlib

import fixtures

from sandbox_cloud import cloud
from sandbox_cloud import state
from tests.unit import base


class ServiceTestCase(base.TestCase):
    """A cloud whose configuration can be written and read."""

    def setUp(self) -> None:
        super().setUp()
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.state = state.State(root)
        self.state.make()
        self.cloud = cloud.Cloud(self.state, state.releases()[-1])
        # This file comes with the distribution.
        paste = self.cloud.runtime.venv.path / 'etc/nova/api-paste.ini'
        paste.parent.mkdir(parents=True)
        paste.write_text('[composite:osapi_compute]\n')

    def read(self, path: pathlib.Path) -> configparser.ConfigParser:
        """Return a configuration file."""
        found = configparser.ConfigParser(
            # oslo.config's lists are repeated options.
            interpolation=None,
            strict=False,
        )
        found.read_string(path.read_text())
        return found
