#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""``cinder-rbd-ext``: commands for operators."""

import argparse
from collections.abc import Sequence
import contextlib
from importlib import metadata
from typing import Any

from cliff import app
from cliff import commandmanager
from cliff import help
from cliff import lister
import openstack

from cinder_rbd_ext.client import answers
from cinder_rbd_ext.client import audit
from cinder_rbd_ext.client import backend_types
from cinder_rbd_ext.client import columns

DISTRIBUTION = 'rbd-volume-options'
_DESCRIPTION = 'Created by cinder-rbd-ext types ensure'


class EnsureTypes(lister.Lister):
    """Create a volume type for each RBD back end that has none.

    Existing volume types are never changed or deleted.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show the missing volume types, but do not create them',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Create the missing types and return the actions."""
        shell: Any = self.app
        api = shell.block_storage()
        pools = answers.record(
            api.get('/scheduler-stats/get_pools?detail=True')
        )['pools']
        types = answers.record(api.get('/types?is_public=None'))
        outcomes = backend_types.plan(pools, types['volume_types'])
        for each in outcomes:
            if each.is_new and not parsed_args.dry_run:
                body = {
                    'name': each.volume_type,
                    'description': _DESCRIPTION,
                    'extra_specs': each.specs,
                }
                answers.record(api.post('/types', json={'volume_type': body}))
        headers = ('Back end', 'Volume type', 'Action', 'Extra specs')
        return headers, [
            columns.row(
                each.backend, each.volume_type, each.action, each.specs
            )
            for each in outcomes
        ]


class Shell(app.App):
    """The application; OS_CLOUD or OS_* variables select the cloud."""

    def __init__(self) -> None:
        commands = commandmanager.CommandManager('cinder_rbd_ext.commands')
        commands.add_command('types ensure', EnsureTypes)
        commands.add_command('audit', audit.Audit)
        super().__init__(
            description='Commands for operators of RBD volume options',
            version=metadata.version(DISTRIBUTION),
            command_manager=commands,
            deferred_help=True,
        )

    def initialize_app(self, argv: list[str]) -> None:
        """Prepare the words of a command; they are changed in place.

        cliff passes on the options that precede ``--help``, which the command
        ``help`` does not have.
        """
        if argv[:1] == ['help']:
            argv[:] = [word for word in argv if not word.startswith('-')]

    def interact(self) -> None:
        """Show the help; there is no interactive mode.

        :raises SystemExit: with the status of a usage error
        """
        with contextlib.suppress(help.HelpExit):
            self.options.deferred_help = True
            self.print_help_if_requested()
        raise SystemExit(2)

    def build_option_parser(
        self, *args: Any, **kwargs: Any
    ) -> argparse.ArgumentParser:
        """Add the options of the cloud to each command."""
        parser: argparse.ArgumentParser = super().build_option_parser(
            *args, **kwargs
        )
        parser.add_argument(
            '--os-cloud',
            metavar='<name>',
            help='Cloud in clouds.yaml. Default: OS_CLOUD or OS_* variables.',
        )
        return parser

    def block_storage(self) -> Any:
        """Return Cinder's API with the user from the options."""
        return self.cloud().block_storage

    def cloud(self) -> Any:
        """Return a connection to the cloud with the user from the options."""
        return openstack.connect(cloud=self.options.os_cloud)


def main(argv: Sequence[str]) -> int:
    """Run the command line; return its exit status."""
    status: int = Shell().run(list(argv))
    return status
