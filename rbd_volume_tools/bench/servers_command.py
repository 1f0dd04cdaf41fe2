# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext bench servers``: measure the disks of servers."""

import argparse
import dataclasses
import pathlib
from typing import Any

from cliff import command
from osc_lib import exceptions

from rbd_volume_tools.bench import commands
from rbd_volume_tools.bench.guest import server_arguments
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import running


class BenchServers(command.Command):
    """Measure the disks of three servers, and write a report.

    The measurements are those of CERN's report of 2013: hdparm, fio and dd on
    a formatted disk of each server, alone and all at once, buffered and
    direct. Only what the command has created is written and removed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            required=True,
            help="Ceph pool of the volumes of Cinder's default volume type or "
            '--volume-type, one of which gives each server its jobs',
        )
        ceph_arguments.add(parser)
        server_arguments.add(parser)
        parser.add_argument(
            '--volume-type',
            metavar='<type>',
            help='Volume type in the pool',
        )
        parser.add_argument(
            '--cache-modes',
            metavar='<mode>',
            nargs='+',
            default=['none', 'writeback'],
            help='Cache modes of volumes of --volume-type (default: none '
            'writeback)',
        )
        parser.add_argument(
            '--access',
            nargs='+',
            choices=('buffered', 'direct'),
            default=['buffered', 'direct'],
            help="Through the guest's page cache, or past it (default: both)",
        )
        parser.add_argument(
            '--sizes',
            metavar='<GiB>',
            nargs='+',
            type=int,
            default=[2, 3, 4],
            help='Size of the disk of each server (default: 2 3 4)',
        )
        parser.add_argument(
            '--striped',
            metavar='<type>',
            help='Volume type with another layout, measured without a mode',
        )
        parser.add_argument(
            '--beside',
            metavar='<type>',
            help='Volume type of a second back end, of any driver',
        )
        for name, value, what in (
            ('repetitions', 5, 'Measurements of each disk'),
            ('runtime', 30, 'Seconds of each run of fio'),
            ('workers', 25, "Processes of each of fio's four jobs"),
            ('file-size', 8, 'MiB of the file of each process'),
            ('dd-small', 64, 'MiB of the smaller file of dd'),
            ('dd-large', 256, 'MiB of the larger file of dd'),
        ):
            parser.add_argument(
                f'--{name}',
                metavar='<number>',
                type=int,
                default=value,
                help=f'{what} (default: %(default)s)',
            )
        parser.add_argument(
            '--output',
            metavar='<folder>',
            type=pathlib.Path,
            default=pathlib.Path('bench-servers'),
            help='Folder for results and report (default: %(default)s)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with commands.libraries():
            from rbd_volume_tools.bench import processes
            from rbd_volume_tools.bench import results

            try:
                with (
                    running.ended_by_signals(),
                    results.locked(parsed_args.output),
                ):
                    self._measure(parsed_args)
            except KeyboardInterrupt:
                raise exceptions.CommandError('Interrupted') from None
            except processes.EngineError as error:
                raise exceptions.CommandError(
                    printable.text(str(error))
                ) from error

    def _measure(self, parsed_args: argparse.Namespace) -> None:
        import rados
        import rbd

        from rbd_volume_tools.bench import images
        from rbd_volume_tools.bench import servers
        from rbd_volume_tools.bench import servers_report
        from rbd_volume_tools.bench.guest import cloud

        settings = servers.Settings(
            **{
                field.name: getattr(parsed_args, field.name)
                for field in dataclasses.fields(servers.Settings)
            }
        )
        shell: Any = self.app
        wanted = server_arguments.wanted(parsed_args)
        pool, folder = parsed_args.pool, parsed_args.output
        with (
            rados.Rados(
                conffile=parsed_args.ceph_conf,
                rados_id=parsed_args.ceph_user,
                conf=commands.OPTIONS,
            ) as cluster,
            images.opened(
                *(cluster, rbd, pool, servers.MARK, folder, self._say)
            ) as own,
        ):
            place = cloud.Cloud(
                shell.cloud(), wanted, f'{cluster.get_fsid()}/{pool}'
            )
            for measured in servers.run(
                own, place, settings, folder, self._say
            ):
                paths = servers_report.write(folder, measured, settings)
        for path in (folder / servers.FILE, *paths):
            self.app.stdout.write(f'{path}\n')

    def _say(self, line: str) -> None:
        self.app.stderr.write(f'{printable.text(line)}\n')
