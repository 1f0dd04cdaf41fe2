# SPDX-License-Identifier: Apache-2.0

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
