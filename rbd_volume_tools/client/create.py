# SPDX-License-Identifier: Apache-2.0

"""``openstack volume rbd create``."""

import argparse
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import columns

_INSTEAD = (
    'If only the volume driver is installed, use "openstack volume create '
    '--property rbd:KEY=VALUE": the driver checks the options when it creates '
    'the volume'
)


#: Sources of a volume: the field of the request, and the words of the help.
_SOURCES = {
    'image': ('imageRef', '<image>', 'Glance image'),
    'snapshot': ('snapshot_id', '<snapshot>', 'Snapshot'),
    'source': ('source_volid', '<volume>', 'Volume'),
}


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
        for option, (_, metavar, what) in _SOURCES.items():
            source.add_argument(
                f'--{option}',
                metavar=metavar,
                help=f'{what} to create the volume from (name or ID)',
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
        request = {
            'name': parsed_args.name,
            'size': parsed_args.size,
            'volume_type': parsed_args.type,
            'metadata': metadata.requested(parsed_args) or None,
        }
        for option, find in (
            ('image', cloud.image.find_image),
            ('snapshot', api.find_snapshot),
            ('source', api.find_volume),
        ):
            if name := getattr(parsed_args, option):
                field, *_ = _SOURCES[option]
                request[field] = find(name, ignore_missing=False).id
        body = {'volume': {k: v for k, v in request.items() if v is not None}}
        made = answers.record(api.post('/volumes', json=body))['volume']
        shown = ('id', 'name', 'status', 'size', 'volume_type', 'metadata')
        return shown, columns.row(*(made[each] for each in shown))
