# SPDX-License-Identifier: Apache-2.0

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
        parser = configparser.ConfigParser(
            # oslo.config's lists are repeated options.
            interpolation=None,
            strict=False,
        )
        parser.read_string(path.read_text())
        return parser
