# SPDX-License-Identifier: Apache-2.0

"""``openstack volume rbd create``."""

import argparse
from collections.abc import Callable
import dataclasses
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import columns

Record = dict[str, Any]

_INSTEAD = (
    'If only the volume driver is installed, use "openstack volume create '
    '--property rbd:KEY=VALUE": the driver checks the options when it creates '
    'the volume'
)


@dataclasses.dataclass(frozen=True)
class Source:
    """A kind of source that a volume is created from.

    :ivar option: the option of the command
    :ivar summary: the source, for the help
    :ivar field: the field of the request that has the ID of the source
    :ivar finder: returns the method that finds a source by name or ID
    """

    option: str
    metavar: str
    summary: str
    field: str
    finder: Callable[[Any], Callable[..., Any]]


SOURCES = (
    Source(
        option='image',
        metavar='<image>',
        summary='Glance image',
        field='imageRef',
        finder=lambda cloud: cloud.image.find_image,
    ),
    Source(
        option='snapshot',
        metavar='<snapshot>',
        summary='Snapshot',
        field='snapshot_id',
        finder=lambda cloud: cloud.block_storage.find_snapshot,
    ),
    Source(
        option='source',
        metavar='<volume>',
        summary='Volume',
        field='source_volid',
        finder=lambda cloud: cloud.block_storage.find_volume,
    ),
)


class CreateRBDVolume(command.ShowOne):
    """Create a volume with RBD volume options.

    The options are checked before the volume is created.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        add = parser.add_argument
        add('name', metavar='<name>', help='Name of the volume')
        add(
            '--size',
            metavar='<GiB>',
            type=int,
            help='Size in GiB. Required without --snapshot and --source.',
        )
        add('--type', metavar='<volume-type>', help='Volume type')
        source = parser.add_mutually_exclusive_group()
        for kind in SOURCES:
            source.add_argument(
                f'--{kind.option}',
                metavar=kind.metavar,
                help=f'{kind.summary} to create the volume from (name or ID)',
            )
        metadata.add_options(
            parser, map(registry.OPTIONS.__getitem__, registry.volume_keys())
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        sized = parsed_args.snapshot or parsed_args.source
        if parsed_args.size is None and not sized:
            raise exceptions.CommandError(
                '--size is required if neither --snapshot nor --source is '
                'given'
            )
        cloud = self.app.client_manager.sdk_connection
        api = cloud.block_storage
        answers.need_extension(api, _INSTEAD)
        body = {'volume': request_of(parsed_args, cloud)}
        made = answers.record(api.post('/volumes', json=body))['volume']
        shown = ('id', 'name', 'status', 'size', 'volume_type', 'metadata')
        return shown, columns.row(*(made[each] for each in shown))


def request_of(parsed_args: argparse.Namespace, cloud: Any) -> Record:
    """Return the request for a volume, without arguments that are not set.

    :param cloud: the connection, where the ID of a source is looked up
    """
    arguments = vars(parsed_args)
    request = {
        'name': parsed_args.name,
        'size': parsed_args.size,
        'volume_type': parsed_args.type,
        'metadata': metadata.requested(parsed_args) or None,
    }
    for kind in SOURCES:
        if arguments[kind.option]:
            find = kind.finder(cloud)
            request[kind.field] = find(
                arguments[kind.option], ignore_missing=False
            ).id
    return {k: v for k, v in request.items() if v is not None}
