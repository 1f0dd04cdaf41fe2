# SPDX-License-Identifier: Apache-2.0

"""Has cliff find the commands of the checkout, which is not installed."""

from importlib import metadata
from typing import Any

from cliff import commandmanager

from tests import tree

_GROUP = 'cinder_rbd_ext.commands'


def find() -> None:
    """Have each command manager load the commands of pyproject.toml."""
    entries = tree.entry_points()[_GROUP].items()
    stock = commandmanager.CommandManager.load_commands

    def load(manager: Any, group: str) -> None:
        if group != _GROUP:
            stock(manager, group)
            return
        for name, target in entries:
            manager.commands[name.replace('_', ' ')] = metadata.EntryPoint(
                name, target, group
            )

    setattr(commandmanager.CommandManager, 'load_commands', load)  # noqa: B010
