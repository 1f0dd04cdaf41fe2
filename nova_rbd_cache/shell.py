# SPDX-License-Identifier: Apache-2.0

"""``nova-rbd-cache``: commands for operators of compute hosts."""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from importlib import metadata
import json
import pathlib
import shlex
import sys
import tempfile
from typing import Any

from cliff import app
from cliff import command
from cliff import commandmanager
from cliff import help
from cliff import lister
from oslo_config import cfg

from nova_rbd_cache import recovery
from rbd_volume_options import wire

DISTRIBUTION = 'rbd-volume-options'

#: The program whose configuration files are read.
_PROGRAM = 'nova-compute'
_HEADER = ('Subject', 'Result', 'Detail')
_STEPS = ('Step', 'Result')


class _OfHost(command.Command):
    """A command that reads the configuration of nova-compute."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--config-file',
            action='append',
            default=[],
            metavar='<path>',
            help=(
                'Configuration file of nova-compute. Can be repeated. '
                'Default: the files that nova-compute finds by itself.'
            ),
        )
        parser.add_argument(
            '--config-dir',
            action='append',
            default=[],
            metavar='<path>',
            help='Folder of configuration files. Can be repeated.',
        )
        return parser


def _configured(parsed_args: argparse.Namespace) -> Any:
    """Return Nova's configuration, with the files of nova-compute read.

    :raises ImportError: if Nova is missing
    """
    from nova import config
    import nova.conf

    config.parse_args(
        [_PROGRAM, *_words(parsed_args)],
        default_config_files=cfg.find_config_files('nova', _PROGRAM),
        configure_db=False,
        init_rpc=False,
    )
    return nova.conf.CONF


class Connector(_OfHost):
    """Print the connector of this host, with the allowed cache modes, as JSON.

    It is what nova-compute sends to Cinder. nova-manage volume_attachment
    refresh reads it from a file. The connector that nova-manage
    volume_attachment get_connector prints has no cache modes.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the connector and return the exit status."""
        self.app.stdout.write(_connector(parsed_args))
        return 0


class Recover(_OfHost, lister.Lister):
    """Recover a server whose cold migration or resize was refused.

    Shows the steps that are left, and runs them with --apply. A repetition
    continues an interrupted run. Run it on a host with Nova's databases, as an
    administrator of the cloud. The exit status is 0 if no step is left or all
    were shown or done, and 1 otherwise.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'server', metavar='<server-id>', help='Server in ERROR'
        )
        parser.add_argument(
            '--connector',
            metavar='<file>',
            type=pathlib.Path,
            help='Output of nova-rbd-cache connector on the host of the '
            'server. Default: the connector of this host.',
        )
        parser.add_argument(
            '--cache-mode',
            metavar='<mode>',
            help='rbd:cache_mode for volumes that request a mode that the '
            'host does not allow',
        )
        parser.add_argument(
            '--os-cloud',
            metavar='<name>',
            help='Cloud in clouds.yaml. Default: OS_CLOUD or OS_* variables.',
        )
        parser.add_argument(
            '--apply', action='store_true', help='Run the steps'
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Show or run the steps and return them as a table.

        :raises NotRecoverable: with the reason
        :raises ValueError: if the output has no such column
        """
        # cliff refuses unknown columns after the steps.
        self._generate_columns_and_selector(parsed_args, _STEPS)
        with contextlib.ExitStack() as stack:
            path = parsed_args.connector
            if path is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                path = pathlib.Path(folder, 'connector.json')
                path.write_text(_connector(parsed_args))
            wanted = _recovery(parsed_args, path)
            steps = wanted.steps()
            for each in steps if parsed_args.apply else ():
                self.app.stderr.write(f'{each.command}\n')
                each.run()
        result = 'done' if parsed_args.apply else 'planned'
        return _STEPS, [(each.command, result) for each in steps]


def _connector(parsed_args: argparse.Namespace) -> str:
    """Return the connector of this host as JSON."""
    conf = _configured(parsed_args)
    # Imported here, because they need Nova.
    from nova_rbd_cache import check

    return f'{json.dumps(check.connector(conf))}\n'


def _recovery(
    parsed_args: argparse.Namespace, path: pathlib.Path
) -> recovery.Recovery:
    """Return the recovery of a server.

    :raises NotRecoverable: if the connector or the cache mode is invalid
    """
    # Nova requires it.
    import openstack

    try:
        connector = json.loads(path.read_text())
        host = connector['host']
        modes = frozenset(
            map(str, connector.get(wire.CONNECTOR_CACHE_MODES, ()))
        )
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise recovery.NotRecoverable(
            f'{path} is not a connector: {error!r}. Write it with '
            'nova-rbd-cache connector on the host of the server.'
        ) from error
    if parsed_args.cache_mode not in (None, *modes):
        raise recovery.NotRecoverable(
            f'--cache-mode {parsed_args.cache_mode}: host {host} allows '
            f'{", ".join(sorted(modes)) or "no mode"}.'
        )
    options = tuple(_given(parsed_args))
    own = ('nova-rbd-cache', 'connector', *options)
    cloud = openstack.connect(cloud=parsed_args.os_cloud)
    return recovery.Recovery(
        cloud.compute,
        cloud.block_storage,
        parsed_args.server,
        path,
        # The file of this host's connector ends with the command.
        shlex.quote(str(parsed_args.connector))
        if parsed_args.connector
        else f'<({shlex.join(own)})',
        host,
        modes,
        options,
        parsed_args.cache_mode,
    )


class Check(_OfHost, lister.Lister):
    """Check whether the plug-in would be active in nova-compute on this host.

    Reads the configuration files of nova-compute. The exit status is 0 if the
    plug-in would be active, and 1 otherwise.
    """

    ok = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--libvirt',
            action='store_true',
            help='Also connect to libvirt',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the findings as a table."""
        # Imported here, so that the command can report that Nova is missing.
        try:
            conf = _configured(parsed_args)
            from nova_rbd_cache import check
        except ImportError as error:
            detail = (
                f'{error} in {sys.prefix}: use the nova-rbd-cache of the '
                f'environment where nova-compute is installed'
            )
            return _HEADER, [('Nova', 'FAILED', detail)]
        findings = list(check.findings(conf))
        if parsed_args.libvirt:
            findings.append(check.libvirt(conf))
        self.ok = all(each.ok for each in findings)
        return _HEADER, [
            (each.subject, 'ok' if each.ok else 'FAILED', each.detail)
            for each in findings
        ]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Show the findings and return the exit status."""
        super().run(parsed_args)
        return 0 if self.ok else 1


def _words(parsed_args: argparse.Namespace) -> list[str]:
    words = list(_given(parsed_args))
    if not words:
        # The folders of nova-compute, not those of this program.
        for path in cfg.find_config_dirs('nova', _PROGRAM):
            words += ['--config-dir', path]
    return words


def _given(parsed_args: argparse.Namespace) -> Iterator[str]:
    """Yield the files and folders of the command line, as options."""
    for path in parsed_args.config_file:
        yield from ('--config-file', path)
    for path in parsed_args.config_dir:
        yield from ('--config-dir', path)


class Shell(app.App):
    """The application."""

    def __init__(self) -> None:
        commands = commandmanager.CommandManager('nova_rbd_cache.commands')
        commands.add_command('check', Check)
        commands.add_command('connector', Connector)
        commands.add_command('recover', Recover)
        super().__init__(
            description='Commands for operators of RBD cache modes in Nova',
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

    def configure_logging(self) -> None:
        """Show only warnings and errors in the log of Nova's modules."""
        self.options.verbose_level = 0
        super().configure_logging()


def main(argv: Sequence[str]) -> int:
    """Run the command line and return its exit status."""
    status: Any = Shell().run(list(argv))
    return int(status)
