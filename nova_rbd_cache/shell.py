# SPDX-License-Identifier: Apache-2.0

"""``nova-rbd-cache``: commands for operators of compute hosts."""

import argparse
from collections.abc import Sequence
import contextlib
from importlib import metadata
import json
import pathlib
import sys
from typing import Any

from cliff import app
from cliff import command
from cliff import commandmanager
from cliff import help
from cliff import lister
from oslo_config import cfg

DISTRIBUTION = 'rbd-volume-options'

#: The program whose configuration files are read.
_PROGRAM = 'nova-compute'
_HEADER = ('Subject', 'Result', 'Detail')
_GUESTS = (
    'Server',
    'Volume',
    'Disk',
    'Cache mode',
    'Requested',
    'State',
    'Differences',
)
_CINDER = '3.27'


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

    words = [
        word
        for option in ('config_file', 'config_dir')
        for path in getattr(parsed_args, option)
        for word in (f'--{option.replace("_", "-")}', path)
    ]
    if not words:
        # The folders of nova-compute, not those of this program.
        for path in cfg.find_config_dirs('nova', _PROGRAM):
            words += ['--config-dir', path]
    config.parse_args(
        [_PROGRAM, *words],
        default_config_files=cfg.find_config_files('nova', _PROGRAM),
        configure_db=False,
        init_rpc=False,
    )
    return nova.conf.CONF


class Connector(_OfHost):
    """Print the connector of this host, with what the host can do, as JSON.

    It is what nova-compute sends to Cinder. nova-manage volume_attachment
    refresh reads it from a file. The connector that nova-manage
    volume_attachment get_connector prints does not say what the host can do.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the connector and return the exit status."""
        conf = _configured(parsed_args)
        # Imported here, because it needs Nova.
        from nova_rbd_cache import check

        self.app.stdout.write(f'{json.dumps(check.connector(conf))}\n')
        return 0


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


class Guests(_OfHost, lister.Lister):
    """Compare the RBD volumes of running guests with what is requested.

    Reads the guests from libvirt on this host, the connections from Cinder,
    as an administrator of the cloud, and the options of nova-compute. The exit
    status is 1 if a guest can lose writes that the requested mode keeps.
    """

    broken = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        _add_cloud(parser)
        parser.add_argument(
            '--textfile',
            metavar='<file>',
            type=pathlib.Path,
            help='Also write metrics for the textfile collector of the node '
            'exporter (file.prom)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the comparison as a table."""
        conf = _configured(parsed_args)
        # Imported here, because they need Nova.
        from nova_rbd_cache import check
        from nova_rbd_cache import comparison
        from nova_rbd_cache import guests
        from nova_rbd_cache import settings

        storage = _cloud(parsed_args).block_storage
        host_settings = settings.read(conf)
        compared = [
            each
            for guest in map(guests.parse, check.running_guests(conf))
            for each in comparison.compare(
                guest, _attachments(storage, guest.server), host_settings
            )
        ]
        self.broken = any(
            each.state is comparison.State.PROMISE_BROKEN for each in compared
        )
        if parsed_args.textfile:
            new = parsed_args.textfile.with_suffix('.new')
            new.write_text(comparison.metrics(compared))
            new.replace(parsed_args.textfile)
        return _GUESTS, [
            (
                each.server,
                each.disk.volume,
                each.disk.target,
                each.mode,
                each.requested,
                each.state.value,
                '; '.join(each.differences),
            )
            for each in compared
        ]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Show the comparison and return the exit status."""
        super().run(parsed_args)
        return int(self.broken)


class Hosts(lister.Lister):
    """List what the compute hosts can do, as they last told Cinder.

    Shows the compute services of Nova, with what each host says in its
    connectors (Cinder stores them with attachments), and when. Run it as an
    administrator of the cloud, anywhere.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        _add_cloud(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the hosts as a table."""
        from nova_rbd_cache import fleet

        cloud = _cloud(parsed_args)
        return fleet.COLUMNS, list(
            fleet.rows(cloud.compute, cloud.block_storage)
        )


def _add_cloud(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--os-cloud',
        metavar='<name>',
        help='Cloud in clouds.yaml. Default: OS_CLOUD or OS_* variables.',
    )


def _cloud(parsed_args: argparse.Namespace) -> Any:
    # Nova requires it.
    import openstack

    return openstack.connect(cloud=parsed_args.os_cloud)


def _attachments(storage: Any, server: str) -> dict[str, dict[str, Any]]:
    """Return the connections of a server's volumes, from Cinder."""
    answer = storage.get(
        f'/attachments/detail?all_tenants=1&instance_id={server}',
        microversion=_CINDER,
    )
    answer.raise_for_status()
    attached = [
        each
        for each in answer.json()['attachments']
        if each['status'] == 'attached' and each['connection_info']
    ]
    # In a live migration, the last one is that of the destination.
    attached.sort(key=lambda each: str(each['attached_at']))
    return {each['volume_id']: each['connection_info'] for each in attached}


class Shell(app.App):
    """The application."""

    def __init__(self) -> None:
        commands = commandmanager.CommandManager('nova_rbd_cache.commands')
        commands.add_command('check', Check)
        commands.add_command('connector', Connector)
        commands.add_command('guests', Guests)
        commands.add_command('hosts', Hosts)
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
