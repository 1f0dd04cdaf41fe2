# SPDX-License-Identifier: Apache-2.0

"""``openstack volume rbd``: options of volume types and of volumes."""

import argparse
from collections.abc import Iterator
import textwrap
from typing import Any
from urllib import parse

from cliff import columns as cliff_columns
from osc_lib.command import command

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import printable

Record = dict[str, Any]
Row = tuple[Any, ...]
Table = tuple[tuple[str, ...], list[Row]]

_HINT = (
    f'{answers.NOT_LOADED}: showing the values that the volume and its type '
    f'request, not those of the RBD image. If a request was refused, the '
    f'reason is in the log of cinder-volume.'
)

#: The origin of values that the type of a volume may have set.
_HIDDEN = 'unknown (you may not see the volume type)'
#: The statuses of a volume that may have no image.
_WITHOUT_IMAGE = ('creating', 'downloading', 'error')


class _Summary(cliff_columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """A width, and what is said about a key."""

    def human_readable(self) -> str:
        width, texts = self._value
        return '\n'.join(
            line for text in texts for line in textwrap.wrap(text, width)
        )


def _row(type_name: str, key: str, told: Record, is_whole: bool) -> Row:
    """Return the row of a key, for programs."""
    option = registry.OPTIONS.get(key)
    row = (
        columns.value(type_name),
        columns.value(key),
        columns.allowed(told, key),
        columns.value(told['default'], key),
        columns.value(told['default_from']),
        bool(option and not option.fixed),
        option.sentence if option else '',
    )
    return (*row, told['settable']) if is_whole else row


def _summary(row: Row, is_settable: bool) -> list[str]:
    """Return what a person reads about a key."""
    _, _, allowed, default, origin, is_changeable, sentence, *_ = row
    lines = [sentence]
    if words := columns.words(allowed):
        lines.append(f'Allowed: {words}')
    if words := columns.words(default):
        lines.append(f'Default: {words} ({columns.words(origin)})')
    if not is_settable:
        lines.append('You may not set it.')
    elif not is_changeable:
        lines.append('Fixed when the volume is created.')
    return lines


class RBDOptions(columns.SafeCells, command.Lister):
    """Show the RBD volume options that a volume type offers.

    Shows which keys you may set on volumes of the type, what they do, the
    allowed values, and the default of each key with its source.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        parser.add_argument(
            'type',
            metavar='<volume-type>',
            nargs='?',
            help='Volume type (name or ID). Default: all that you can see.',
        )
        parser.add_argument(
            '--all',
            action='store_true',
            help='Show also the keys that you may not set',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        api = self.app.client_manager.sdk_connection.block_storage
        answers.need_extension(api)
        if parsed_args.type:
            told: list[Any] = [_type(api, parsed_args.type)]
        else:
            told = answers.record(api.get(definitions.ROUTE))['volume_types']
        for each in told:
            if not each['supported']:
                self.log.warning(
                    '%s offers no RBD volume options: %s',
                    printable.text(each['name']),
                    printable.text(each['reason']),
                )
        rows = [
            (_row(each['name'], key, option, parsed_args.all), option)
            for each in told
            for key, option in each['options'].items()
            if parsed_args.all or option['settable']
        ]
        if parsed_args.formatter != 'table':
            headers = _HEADERS if parsed_args.all else _HEADERS[:-1]
            return headers, [row for row, _ in rows]
        # Without the type if it was named, and no wider than 80 columns.
        shown = slice(1 if parsed_args.type else 0, 2)
        names = [row[shown] for row, _ in rows]
        taken = [len(''.join(each)) + 3 * len(each) for each in names]
        width = max(24, _WIDTH - 4 - max(taken, default=0))
        return (*_HEADERS[shown], 'Description'), [
            (
                *name,
                _Summary((width, _summary(row, option['settable']))),
            )
            for name, (row, option) in zip(names, rows, strict=True)
        ]


#: Columns of a table that a person reads.
_WIDTH = 80
_HEADERS = (
    *('Type', 'Key', 'Allowed', 'Default', 'From'),
    *('Changeable', 'Description', 'Settable'),
)


def _type(api: Any, name: str, may_be_hidden: bool = False) -> Record | None:
    """Return the options that a volume type offers.

    :param may_be_hidden: whether to return None for a type that the user may
        not see. A project can have volumes of a private type that is not, or
        no longer, shared with it.
    """
    path = f'{definitions.ROUTE}/{parse.quote(name, safe="")}'
    response = api.get(path)
    if may_be_hidden and response.status_code == 404:
        return None
    volume_type: Record = answers.record(response)['volume_type']
    return volume_type


class ShowRBDVolume(columns.SafeCells, command.Lister):
    """Show layout, image features and cache mode of a volume.

    Shows the source of each value, the cache mode of each attachment, and why
    the volume or its last attachment was refused. If the API extension is not
    loaded, shows the requested values only.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        parser.add_argument(
            'volume', metavar='<volume>', help='Volume (name or ID)'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        api = self.app.client_manager.sdk_connection.block_storage
        ident = api.find_volume(parsed_args.volume, ignore_missing=False).id
        volume = answers.record(api.get(f'/volumes/{ident}'))['volume']
        if answers.has_extension(api):
            told = _type(api, volume['volume_type'], may_be_hidden=True)
            rows = rows_of_volume(volume, told)
        else:
            self.log.warning(_HINT)
            rows = requested(volume, _specs(api, volume['volume_type']))
        return ('Key', 'Value', 'From'), [
            (key, columns.value(value, key), origin)
            for key, value, origin in rows
        ]


def _specs(api: Any, name: str) -> Record:
    """Return the extra specs of a type that the caller can see."""
    for each in answers.volume_types(api):
        if each['name'] == name:
            specs: Record = each.get('extra_specs') or {}
            return specs
    return {}


def requested(volume: Record, specs: Record) -> Iterator[Row]:
    """Return a row for each key, with the value that is requested.

    :param specs: the visible extra specs of the volume's type
    """
    for option in registry.with_values():
        for texts, origin in (
            (volume['metadata'], errors.Origin.VOLUME_METADATA),
            (specs, errors.Origin.VOLUME_TYPE),
        ):
            if option.key in texts:
                value = _parsed(option, texts[option.key])
                yield option.key, value, origin.label
                break
        else:
            if not option.is_rarely_set:
                yield option.key, None, answers.NOT_LOADED


def _parsed(option: definitions.Option, text: str) -> Any:
    """Return a value as the API extension would; an invalid one unchanged."""
    try:
        return definitions.as_json(option.parse(text))
    except errors.OptionError:
        return text


def rows_of_volume(volume: Record, told: Record | None) -> Iterator[Row]:
    """Return a row for each value of a volume, with its origin.

    :param told: options that the volume's type offers; None if unknown
    """
    if name_id := volume.get('os-vol-mig-status-attr:name_id'):
        # The image has another name than its volume. Administrators see it.
        yield 'image', f'volume-{name_id}', 'Cinder'
    of_attachments = registry.of_kind(definitions.Kind.CONNECTION)
    for option in registry.with_values():
        if option.attribute and option not in of_attachments:
            value = volume.get(option.attribute)
            if option.is_item:
                value = (value or {}).get(option.name)
            if option.is_rarely_set and value is None:
                # There can be many of these, and hardly any is set.
                continue
            origin = (
                _why_unset(volume)
                if value is None
                else _origin(option, volume, told)
            )
            yield option.key, value, origin
    yield from _discard(volume)
    for option in of_attachments:
        yield from _rows_of_attachments(option, volume, told)
    # The image metadata is not used, because tenants can write it and images
    # pass it on to volumes.
    failed = volume.get(image_record.ATTRIBUTE_REFUSED)
    if failed:
        yield 'creation', failed, 'refused by the driver'
    refused = volume.get(image_record.ATTRIBUTE_ATTACH_REFUSED)
    if refused:
        reason = refused['reason']
        yield 'last attachment', reason, refused['at']
    conversion = volume.get(image_record.ATTRIBUTE_CONVERSION)
    if conversion and conversion['reason']:
        reason = conversion['reason']
        yield 'last retype', reason, 'refused by the driver'
    elif conversion:
        done = conversion['percent']
        yield 'retype', f'{done} %', conversion['at']


def _why_unset(volume: Record) -> str | None:
    """Return why there is no value; None if the image has none.

    The driver records all values of an image that it created or took over.
    """
    if volume.get(definitions.ATTRIBUTE_OBJECT_SIZE) is not None:
        return None
    if volume.get('status') in _WITHOUT_IMAGE:
        return 'unknown (no image was recorded)'
    return 'unknown (created by another driver)'


def _discard(volume: Record) -> Iterator[Row]:
    """Say which discards of a guest remove objects of a striped image.

    An object holds every n-th stripe unit, so only the discard of a whole
    object set does. Smaller ones free space in the objects.
    """
    object_size = volume.get(definitions.ATTRIBUTE_OBJECT_SIZE)
    stripe_count = volume.get(definitions.ATTRIBUTE_STRIPE_COUNT)
    if object_size and stripe_count and stripe_count > 1:
        removed = sizes.format_size(object_size * stripe_count)
        yield 'discards', f'remove objects in pieces of {removed}', 'RBD image'


def _rows_of_attachments(
    option: definitions.Option, volume: Record, told: Record | None
) -> Iterator[Row]:
    """Return rows for an option of attachments: the next one, and each.

    Volumes do not inherit the value. If it is unset, the compute host decides.
    """
    next_one = volume['metadata'].get(option.key)
    origin = errors.Origin.VOLUME_METADATA.label
    if not next_one and told is None:
        origin = _HIDDEN
    elif not next_one and told:
        offered = told['options'].get(option.key) or {}
        next_one = offered.get('default')
        origin = offered.get('default_from') or 'compute host'
    if next_one is None and option.is_rarely_set:
        # The attachments have the default of the stock driver.
        return
    yield option.key, next_one, origin
    attached = volume.get(option.attribute or '') or {}
    for ident, current in attached.items():
        when = 'set at attachment'
        if next_one and _parsed(option, str(next_one)) != current:
            when = f'{when}; pending until the next attachment: {next_one}'
        if option.key == keys.CACHE_MODE:
            when += _in_force(volume, ident, current)
        value = columns.HostDecides(None) if current is None else current
        yield f'{option.key}, attachment {ident}', value, when


def _in_force(volume: Record, ident: str, requested: object) -> str:
    """Return what the host of an attachment gives instead, if it does."""
    modes = volume.get(image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE) or {}
    if requested is None or ident not in modes:
        return ''
    mode = modes[ident]
    if mode == requested:
        return ''
    if mode is None:
        return '; the compute host decides: it has no plug-in'
    return f'; in force: {mode} (the compute host does not allow it)'


def _origin_of_features(volume: Record, told: Record | None) -> str:
    """Return where the features of an image come from.

    rbd:object_map decides about the object map and what belongs to it, and
    striping follows from the layout.
    """
    items = volume['metadata']
    recorded = volume.get(image_record.ATTRIBUTE_ORIGINS) or {}
    name = keys.FEATURES.removeprefix(keys.PREFIX)
    requested = str(recorded.get(name) or errors.Origin.VOLUME_METADATA.label)
    if keys.FEATURES in items:
        return requested
    parts = []
    if keys.OBJECT_MAP in items:
        parts.append(f'object map: {requested}')
    has = volume.get(definitions.ATTRIBUTE_FEATURES) or ()
    striping = recorded.get(keys.STRIPING)
    if features.STRIPING in has and striping:
        parts.append(f'striping: {striping}')
    if keys.OBJECT_MAP in items or told is None:
        offered = (told or {'options': {}})['options'].get(keys.FEATURES, {})
        other = offered.get('default_from')
        other = other or (_HIDDEN if told is None else _CEPH)
    else:
        other = recorded.get(name)
        other = other or _default_origin(volume, keys.FEATURES, told)
    return '; '.join([*parts, f'others: {other}' if parts else str(other)])


_CEPH = errors.Origin.CLUSTER.label


def _default_origin(volume: Record, key: str, told: Record) -> str:
    offered = told['options'].get(key) or {}
    origin: str | None = offered.get('default_from')
    if origin == errors.Origin.VOLUME_TYPE.label:
        return origin
    if volume.get('source_volid') or volume.get('snapshot_id'):
        return errors.Origin.SOURCE_VOLUME.label
    return origin or _CEPH


def _origin(
    option: definitions.Option, volume: Record, told: Record | None
) -> str:
    """Return the origin of a value.

    The recorded origin comes first: the keys of a volume may have been changed
    through a cinder-api service without the extension.
    """
    key = option.key
    if key == keys.FEATURES:
        return _origin_of_features(volume, told)
    recorded = volume.get(image_record.ATTRIBUTE_ORIGINS) or {}
    for part, names in options.PARTS.items():
        name = part.removeprefix(keys.PREFIX)
        if key in names and name in recorded:
            return str(recorded[name])
    items = volume['metadata']
    if key in items:
        return errors.Origin.VOLUME_METADATA.label
    if told is None:
        return _HIDDEN
    if option.is_item:
        # A limit that follows from the size, or the largest one. A volume does
        # not have the limits of its source.
        offered = told['options'].get(key) or {}
        origin: str | None = offered.get('default_from')
        return origin or errors.Origin.VOLUME_TYPE.label
    return _default_origin(volume, key, told)
