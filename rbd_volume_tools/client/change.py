# SPDX-License-Identifier: Apache-2.0

"""``openstack volume rbd set`` and ``unset``, and a hook of stock unset."""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import logging
from typing import Any
from urllib import parse

from cliff import hooks
from osc_lib import exceptions
from osc_lib.command import command

from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers

LOG = logging.getLogger(__name__)


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
        for name in names:
            print(f'{name}: unset{_when(name)}', file=self.app.stdout)
        for line in _left(api, parsed_args.volume, names):
            print(line, file=self.app.stdout)


class UnsetHook(hooks.CommandHook):
    """Makes ``openstack volume unset`` say which keys are left.

    The API answers with a warning, which that command does not print.
    """

    def get_parser(self, parser: argparse.ArgumentParser) -> None:
        return None

    def get_epilog(self) -> None:
        return None

    def before(self, parsed_args: argparse.Namespace) -> argparse.Namespace:
        return parsed_args

    def after(self, parsed_args: argparse.Namespace, return_code: int) -> int:
        names = parsed_args.properties or ()
        if not return_code and any(x in registry.OPTIONS for x in names):
            app: Any = self.cmd.app
            api = app.client_manager.sdk_connection.block_storage
            # The command itself has succeeded.
            with contextlib.suppress(exceptions.CommandError):
                for line in _left(api, parsed_args.volume, names):
                    LOG.warning('%s', line)
        return return_code


def _left(api: Any, volume: str, names: Iterable[str]) -> Iterator[str]:
    """Yield what to say about keys that belong to keys that were unset."""
    families = {_family(each) for each in names if each in registry.OPTIONS}
    left = answers.record(api.get(_path(api, volume)))['metadata']
    for name, value in left.items():
        if _family(name) in families:
            yield (
                f'{name}={value} is left; it belongs to what was unset. '
                f'Unset it: openstack volume rbd unset {volume} {name}'
            )


def _family(name: str) -> str | None:
    option = registry.OPTIONS.get(name)
    return option.family if option else None


def _order(name: str) -> int:
    return list(registry.OPTIONS).index(name)
