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

"""``openstack volume rbd``: options of types, volumes and their creation."""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any
from urllib import parse

from osc_lib import exceptions
from osc_lib.command import command

from cinder_rbd_ext.client import printable
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import sizes
from rbd_volume_options import wire

Record = dict[str, Any]
Table = tuple[tuple[str, ...], list[tuple[Any, ...]]]


def answer(response: Any) -> Record:
    """Return Cinder's response; raise its message if it refuses."""
    if response.status_code >= 400:
        try:
            (fault,) = response.json().values()
            text = fault['message']
        except (AttributeError, KeyError, TypeError, ValueError):
            text = response.text
        shown = printable.text(str(text))
        raise exceptions.CommandError(f'{shown} (HTTP {response.status_code})')
    found: Record = response.json()
    return found


def allowed(option: Record) -> str:
    """Return a short text of the allowed values of a key."""
    if 'allowed' in option:
        words = [str(each).lower() for each in option['allowed']]
        return ', '.join(words) or 'nothing'
    if option['type'] == 'size':
        low, high = (
            sizes.format_size(option[each]) for each in ('minimum', 'maximum')
        )
        return f'power of two, {low} to {high}'
    if option['type'] == 'count':
        return f'{option["minimum"]} to {option["maximum"]}'
    return ''


def rows_of_type(told: Record) -> Iterator[tuple[Any, ...]]:
    """Return a row for each key of a type, or one row with the reason."""
    name = told['name']
    if not told[wire.SUPPORTED]:
        yield name, None, None, told['reason'], None, None
    for key, each in told['options'].items():
        default, origin = each['default'], each[wire.DEFAULT_FROM]
        yield name, key, each[wire.SETTABLE], allowed(each), default, origin


class RBDOptions(command.Lister):
    """Show the RBD volume options that volume types offer"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'type',
            metavar='<volume-type>',
            nargs='?',
            help='Volume type (name or ID; default: all visible types)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the table."""
        api = self.app.client_manager.sdk_connection.block_storage
        if parsed_args.type:
            name = parse.quote(parsed_args.type, safe='')
            told = [answer(api.get(f'{wire.ROUTE}/{name}'))['volume_type']]
        else:
            told = answer(api.get(wire.ROUTE))['volume_types']
        columns = ('Type', 'Key', 'Settable', 'Allowed', 'Default', 'From')
        rows = [row for each in told for row in rows_of_type(each)]
        return columns, printable.value(rows)


class ShowRBDVolume(command.Lister):
    """Show the layout, features and cache mode of a volume"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'volume', metavar='<volume>', help='Volume (name or ID)'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the table."""
        api = self.app.client_manager.sdk_connection.block_storage
        ident = api.find_volume(parsed_args.volume, ignore_missing=False).id
        volume = answer(api.get(f'/volumes/{ident}'))['volume']
        name = parse.quote(volume['volume_type'] or '', safe='')
        told = answer(api.get(f'{wire.ROUTE}/{name}'))['volume_type']
        rows = list(rows_of_volume(volume, told))
        return ('Key', 'Value', 'From'), printable.value(rows)


def rows_of_volume(
    volume: Record, told: Record
) -> Iterator[tuple[str, Any, str]]:
    """Return a row for each value of a volume, with its origin.

    :param told: the options that the volume's type offers
    """
    for key in keys.KEYS.values():
        if key.attribute is None:
            continue
        value = volume.get(key.attribute)
        if isinstance(value, list):
            value = ','.join(value)
        yield key.name, value, _origin(key.name, volume, told)
    yield keys.CACHE_MODE, *_cache_mode(volume, told)
    attached = volume.get(wire.ATTRIBUTE_CACHE_MODES) or {}
    for ident, made_with in attached.items():
        yield f'attachment {ident}', made_with, 'set at attachment'
    # Not from the image metadata, which tenants can write and which images
    # pass on.
    failed = volume.get(wire.ATTRIBUTE_REFUSED)
    if failed:
        yield 'creation', failed, 'refused by the driver'
    refused = volume.get(wire.ATTRIBUTE_ATTACH_REFUSED)
    if refused:
        yield 'last attachment', refused['reason'], refused['at']


def _cache_mode(volume: Record, told: Record) -> tuple[str | None, str]:
    """Return the mode of the next attachment and its origin.

    Volumes do not inherit the mode. If it is unset, the compute host decides.
    """
    asked = volume['metadata'].get(keys.CACHE_MODE)
    if asked:
        return asked, errors.Origin.VOLUME_METADATA.label
    option = told['options'].get(keys.CACHE_MODE) or {}
    return option.get('default'), option.get(
        wire.DEFAULT_FROM
    ) or 'compute host'


def _origin(key: str, volume: Record, told: Record) -> str:
    """Return the origin of a value, as far as the API shows it."""
    asked = volume['metadata']
    if key in asked or (key == keys.FEATURES and keys.OBJECT_MAP in asked):
        return errors.Origin.VOLUME_METADATA.label
    option = told['options'].get(key) or {}
    origin: str | None = option.get(wire.DEFAULT_FROM)
    if origin == errors.Origin.VOLUME_TYPE.label:
        return origin
    if volume.get('source_volid') or volume.get('snapshot_id'):
        return errors.Origin.SOURCE_VOLUME.label
    return origin or errors.Origin.CLUSTER.label


def _checked(parser: Callable[[str], Any]) -> Callable[[str], str]:
    """Return an argument's type that checks a value and keeps its text."""

    def value(text: str) -> str:
        try:
            parser(text)
        except errors.OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return text

    return value


class CreateRBDVolume(command.ShowOne):
    """Create a volume with RBD volume options"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add = parser.add_argument
        add('name', metavar='<name>', help='Name of the volume')
        add('--size', metavar='<GiB>', type=int, help='Size in GiB')
        add('--type', metavar='<volume-type>', help='Volume type')
        source = parser.add_mutually_exclusive_group()
        for option, what in (
            ('--image', 'Glance image'),
            ('--snapshot', 'snapshot'),
            ('--source', 'volume'),
        ):
            source.add_argument(
                option, metavar='<id>', help=f'ID of the source {what}'
            )
        _add_options(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Create the volume and return Cinder's response."""
        body = {'volume': request_of(parsed_args)}
        api = self.app.client_manager.sdk_connection.block_storage
        made = answer(api.post('/volumes', json=body))['volume']
        shown = ('id', 'name', 'status', 'size', 'volume_type', 'metadata')
        return shown, tuple(printable.value(made[each]) for each in shown)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    for option, metavar, check in (
        ('--object-size', '<size>', layout.parse_object_size),
        ('--stripe-unit', '<size>', layout.parse_stripe_unit),
        ('--stripe-count', '<count>', layout.parse_stripe_count),
        ('--features', '<name,...>', features.parse_features),
    ):
        key = f'{keys.PREFIX}{option[2:].replace("-", "_")}'
        add(
            option,
            metavar=metavar,
            type=_checked(check),
            help=keys.KEYS[key].summary,
        )
    add(
        '--object-map',
        action=argparse.BooleanOptionalAction,
        help=keys.KEYS[keys.OBJECT_MAP].summary,
    )
    add(
        '--cache-mode',
        choices=[mode.value for mode in cache_modes.CacheMode],
        help=keys.KEYS[keys.CACHE_MODE].summary,
    )


def request_of(parsed_args: argparse.Namespace) -> Record:
    """Return the request for a volume, without arguments that are not set."""
    given = vars(parsed_args)
    metadata = {}
    for key in keys.VOLUME_KEYS:
        value = given.get(key.removeprefix(keys.PREFIX))
        if value is not None:
            metadata[key] = str(value)
            if isinstance(value, bool):
                metadata[key] = metadata[key].lower()
    request = {
        'name': parsed_args.name,
        'size': parsed_args.size,
        'volume_type': parsed_args.type,
        'imageRef': parsed_args.image,
        'snapshot_id': parsed_args.snapshot,
        'source_volid': parsed_args.source,
        'metadata': metadata,
    }
    return {name: value for name, value in request.items() if value}
