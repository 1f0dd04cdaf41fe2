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

"""The commands that the distribution adds to cinder-rbd-ext."""

import configparser
from importlib import metadata

from cliff import commandmanager
import fixtures

from tests import tree

_GROUP = 'cinder_rbd_ext.commands'


class InstalledCommands(fixtures.Fixture):
    """Have cliff find the commands of setup.cfg, as if it were installed."""

    def _setUp(self) -> None:
        setup = configparser.ConfigParser(delimiters=('=',))
        setup.read(tree.ROOT / 'setup.cfg')
        lines = setup['entry_points'][_GROUP].strip().splitlines()
        entries = [line.partition('=')[::2] for line in lines]

        def load(manager: commandmanager.CommandManager, group: str) -> None:
            for name, target in entries if group == _GROUP else ():
                command = name.strip().replace('_', ' ')
                manager.commands[command] = metadata.EntryPoint(
                    name.strip(), target.strip(), group
                )

        self.useFixture(
            fixtures.MonkeyPatch(
                'cliff.commandmanager.CommandManager.load_commands', load
            )
        )
