# SPDX-License-Identifier: Apache-2.0

"""``openstack volume rbd set`` and ``unset``."""

import argparse
from collections.abc import Iterable
from typing import Any
from urllib import parse

from osc_lib import exceptions
from osc_lib.command import command

from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers


def _path(api: Any, name: str) -> str:
    ident = api.find_volume(name, ignore_missing=False).id
    return f'/volumes/{ident}/metadata'


def _require_changeable(names: Iterable[str]) -> None:
    """Check that keys can be changed on an existing volume.

    :raises CommandError: otherwise
    """
    for name in names:
        if registry.is_fixed(name):
            raise exceptions.CommandError(
                f'{name} is fixed when a volume is created. A retype can '
                'change it: openstack volume set --type <type> <volume>.'
            )


class SetRBDVolume(command.Command):
    """Set RBD volume options of an existing volume.

    Says when each of them takes effect.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        parser.add_argument(
            'volume', metavar='<volume>', help='Volume (name or ID)'
        )
        metadata.add_options(parser, registry.changeable())
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        chosen = metadata.requested(parsed_args)
        if not chosen:
            raise exceptions.CommandError(
                'Nothing to set: use an option of --help.'
            )
        _require_changeable(chosen)
        api = self.app.client_manager.sdk_connection.block_storage
        answers.need_extension(api)
        path = _path(api, parsed_args.volume)
        answers.record(api.post(path, json={'metadata': chosen}))
        for name, value in chosen.items():
            when = _when(name)
            print(f'{name}={value}{when}', file=self.app.stdout)


def _when(name: str) -> str:
    option = registry.OPTIONS.get(name)
    return f': {option.takes_effect}' if option else ''


class UnsetRBDVolume(command.Command):
    """Unset RBD volume options of an existing volume.

    Says which keys remain that belong to them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        parser.add_argument(
            'volume', metavar='<volume>', help='Volume (name or ID)'
        )
        parser.add_argument(
            'key',
            metavar='<key>',
            nargs='+',
            help=f'Key, with or without the prefix {keys.PREFIX}',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        names = [
            metadata.key(
                each
                if each.startswith(keys.PREFIX)
                else f'{keys.PREFIX}{each}'
            )
            for each in parsed_args.key
        ]
        _require_changeable(names)
        api = self.app.client_manager.sdk_connection.block_storage
        answers.need_extension(api)
        path = _path(api, parsed_args.volume)
        # A burst without its limit would be refused: it goes first.
        for name in sorted(names, key=_order, reverse=True):
            response = api.delete(f'{path}/{parse.quote(name, safe="")}')
            if response.status_code >= 400:
                answers.record(response)
        left = answers.record(api.get(path))['metadata']
        for name in names:
            print(f'{name}: unset{_when(name)}', file=self.app.stdout)
        for name, value in left.items():
            if _family(name) in {_family(each) for each in names}:
                print(
                    f'{name}={value} is left; it belongs to what was unset. '
                    f'Unset it: openstack volume rbd unset '
                    f'{parsed_args.volume} {name}',
                    file=self.app.stdout,
                )


def _option(name: str) -> definitions.Option | None:
    return registry.OPTIONS.get(name)


def _family(name: str) -> str | None:
    option = _option(name)
    return option.family if option else None


def _order(name: str) -> int:
    return list(registry.OPTIONS).index(name)
