# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext``: commands for operators."""

import argparse
from collections.abc import Sequence
import contextlib
import dataclasses
from importlib import metadata
import os
import pathlib
from typing import Any

from cliff import app
from cliff import commandmanager
from cliff import help
from keystoneauth1 import exceptions as keystone
import openstack
from osc_lib import exceptions
import yaml

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_tools.audit import commands as audit
from rbd_volume_tools.bench import commands as bench
from rbd_volume_tools.clean import commands as clean
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import whole_file
from rbd_volume_tools.doctor import commands as doctor
from rbd_volume_tools.exporter import commands as exporter
from rbd_volume_tools.fleet import apply_types
from rbd_volume_tools.fleet import backend_types
from rbd_volume_tools.fleet import map_commands as object_map
from rbd_volume_tools.fleet import retype_commands as retype
from rbd_volume_tools.fleet import volume_service

DISTRIBUTION = 'rbd-volume-options'
#: Variables one of which selects a cloud.
_CLOUD = frozenset({'OS_CLOUD', 'OS_AUTH_URL', 'OS_ENDPOINT'})
#: Seconds for a request to an API, unless clouds.yaml has ``api_timeout``.
_API_SECONDS = 60.0
_DESCRIPTION = 'Created by cinder-rbd-ext types ensure'


class EnsureTypes(exit_status.StatusLister):
    """Create a volume type for each RBD back end that has none.

    With ``--name``, create one volume type with the given keys instead; with
    ``--file``, those of a file.
    Existing volume types are never changed or deleted. The exit status is 1 if
    a type could not be created, 2 if a type of ``--name`` or ``--file`` exists
    with other keys, and 3 if the command failed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show the missing volume types, but do not create them',
        )
        parser.add_argument(
            '--name',
            metavar='<name>',
            help='Name of the only volume type to create',
        )
        parser.add_argument(
            '--property',
            metavar='<key>=<value>',
            action='append',
            default=[],
            help='Key of the volume type of --name, such as '
            'rbd:stripe_unit=64K; repeat the option for several keys',
        )
        parser.add_argument(
            '--backend',
            metavar='<name>',
            help='volume_backend_name of the back end of --name (default: the '
            'only back end with RBD volume options)',
        )
        parser.add_argument(
            '--file',
            metavar='<path>',
            help='YAML file with volume types: the keys of each by its name, '
            'and volume_backend_name if it is not that of --backend',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Back end', 'Volume type', 'Action', 'Extra specs')

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        api = shell.block_storage()
        pools = answers.record(
            api.get('/scheduler-stats/get_pools?detail=True')
        )['pools']
        outcomes = _outcomes(parsed_args, pools, answers.volume_types(api))
        if parsed_args.name or parsed_args.file:
            taken = [each for each in outcomes if each.is_taken]
            self.status = 2 if taken else 0
        for index, each in enumerate(outcomes):
            if each.is_new and not parsed_args.dry_run:
                body = {
                    'name': each.volume_type,
                    'description': _DESCRIPTION,
                    'extra_specs': each.specs,
                }
                try:
                    answers.record(
                        api.post('/types', json={'volume_type': body})
                    )
                except exceptions.CommandError as error:
                    # The others exist or can be created: show all of them.
                    action = f'failed: {printable.text(str(error))}'
                    outcomes[index] = dataclasses.replace(each, action=action)
                    self.status = 1
        return self.headers(parsed_args), [
            columns.row(
                each.backend, each.volume_type, each.action, each.specs
            )
            for each in outcomes
        ]


def _outcomes(
    parsed_args: argparse.Namespace, pools: Any, types: Any
) -> list[backend_types.Outcome]:
    """Return the actions for all back ends, or for one type.

    :raises CommandError: for an invalid value
    :raises UsageError: for options that do not belong together
    """
    if parsed_args.file and (parsed_args.name or parsed_args.property):
        raise exit_status.UsageError(
            '--file replaces --name and --property; set one of them.'
        )
    named = {}
    if parsed_args.file:
        named = _types_in(parsed_args.file)
    elif parsed_args.name is not None:
        named = {parsed_args.name: _properties(parsed_args.property)}
    elif parsed_args.property or parsed_args.backend:
        raise exit_status.UsageError(
            '--property and --backend need --name or --file.'
        )
    else:
        return backend_types.plan(pools, types)
    try:
        return [
            backend_types.plan_named(
                pools,
                types,
                name,
                {
                    k: v
                    for k, v in specs.items()
                    if k != backend_types.BACKEND_NAME
                },
                specs.get(backend_types.BACKEND_NAME, parsed_args.backend),
            )
            for name, specs in named.items()
        ]
    except errors.OptionError as error:
        raise exceptions.CommandError(printable.text(str(error))) from error


def _properties(words: Sequence[str]) -> dict[str, str]:
    properties = {}
    for word in words:
        key, equals, value = word.partition('=')
        if not equals:
            raise exit_status.UsageError(
                f'--property {printable.text(word)}: no value; allowed: '
                '<key>=<value>'
            )
        properties[key] = value
    return properties


class _Texts(yaml.SafeLoader):
    """Load all values as texts: ``off`` of rbd:detect_zeroes is no boolean.

    Only merge keys (``<<``) have a meaning.
    """

    yaml_implicit_resolvers = {
        '<': yaml.SafeLoader.yaml_implicit_resolvers['<']
    }


def _types_in(path: str) -> dict[str, dict[str, str]]:
    """Return the extra specs of the volume types in a file, by name.

    :raises CommandError: for another content
    :raises ValueError: if the file cannot be read
    """
    text = whole_file.read(pathlib.Path(path))
    try:
        # It constructs no objects, as safe_load.
        content = yaml.load(text, _Texts)  # noqa: S506
        return {
            str(name): {
                str(key): definitions.as_text(value)
                for key, value in specs.items()
            }
            for name, specs in content.items()
        }
    # `!!bool a` and others raise errors of Python.
    except (
        *(yaml.YAMLError, ValueError, LookupError),
        *(AttributeError, RecursionError),
    ) as error:
        raise exceptions.CommandError(
            f'{printable.text(path)}: {printable.text(str(error))}; allowed: '
            'names of volume types, each with its keys and values'
        ) from error


class Shell(app.App):
    """The application; OS_CLOUD or OS_* variables select the cloud."""

    def __init__(self) -> None:
        self._connection: Any = None
        commands = commandmanager.CommandManager('cinder_rbd_ext.commands')
        commands.add_command('types ensure', EnsureTypes)
        commands.add_command('types apply', apply_types.ApplyTypes)
        commands.add_command('audit', audit.Audit)
        commands.add_command('clean plan', clean.Plan)
        commands.add_command('clean apply', clean.Apply)
        commands.add_command('cloud-id', clean.CloudId)
        commands.add_command('object-map check', object_map.Check)
        commands.add_command('object-map enable', object_map.Enable)
        commands.add_command('object-map disable', object_map.Disable)
        commands.add_command('object-map rebuild', object_map.Rebuild)
        commands.add_command('retype', retype.Retype)
        commands.add_command('doctor', doctor.Doctor)
        commands.add_command('bench plans', bench.BenchPlans)
        commands.add_command('bench run', bench.BenchRun)
        commands.add_command('bench servers', bench.BenchServers)
        commands.add_command('bench report', bench.BenchReport)
        commands.add_command('bench compare', bench.BenchCompare)
        commands.add_command('exporter', exporter.Exporter)
        super().__init__(
            description='Commands for operators of RBD volume options',
            version=metadata.version(DISTRIBUTION),
            command_manager=commands,
            deferred_help=True,
        )

    def configure_logging(self) -> None:
        """Begin to log; a file that cannot be written is a usage error.

        cliff would end the program with the status of warnings.
        """
        try:
            super().configure_logging()
        except OSError as error:
            self.parser.error(f'argument --log-file: {error}')

    def initialize_app(self, argv: list[str]) -> None:
        """Prepare the arguments of a command in place.

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
        raise SystemExit(exit_status.USAGE)

    def run_subcommand(self, argv: list[str]) -> int:
        """Run a command; an unknown one is a usage error."""
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            super().run_subcommand(argv)
            return exit_status.USAGE
        status: int = super().run_subcommand(argv)
        return status

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

    def administrator(self) -> Any:
        """Return the cloud for an administrator, whom the records need.

        Other users see a part of them, and the rest would be orphans.

        :raises CommandError: if the user is none
        """
        cloud = self.cloud()
        service = volume_service.VolumeService(cloud.block_storage)
        if not service.is_administrators():
            raise exceptions.CommandError(
                'The user is not an administrator of the cloud: Cinder '
                'refuses the list of back ends, or the volumes of other '
                'projects. Use the cloud or the OS_* variables of an '
                'administrator.'
            )
        return cloud

    def cloud(self) -> Any:
        """Return a connection to the cloud with the user from the options.

        :raises CommandError: if no cloud is selected, or it refuses the user
        """
        if self._connection is None:
            try:
                connection = openstack.connect(cloud=self.options.os_cloud)
                # keystoneauth would wait without a limit.
                if connection.session.timeout is None:
                    connection.session.timeout = _API_SECONDS
                connection.authorize()
            except (
                keystone.ClientException,
                openstack.exceptions.SDKException,
            ) as error:
                raise exceptions.CommandError(self._advice(error)) from error
            self._connection = connection
        return self._connection

    def _advice(self, error: Exception) -> str:
        if self.options.os_cloud or _CLOUD & os.environ.keys():
            text = str(error).rstrip('.')
            return (
                f'Could not sign in to the cloud: {text}. Check clouds.yaml '
                'or the OS_* variables.'
            )
        return (
            'No cloud is selected. Set --os-cloud or OS_CLOUD to a name in '
            'clouds.yaml, or OS_AUTH_URL and the other OS_* variables of an '
            'administrator.'
        )


def main(argv: Sequence[str]) -> int:
    """Run the command line; return its exit status."""
    try:
        status: int = Shell().run(list(argv))
    except SystemExit as ended:
        # argparse has ended the process.
        return exit_status.USAGE if ended.code else 0
    return status
