# SPDX-License-Identifier: Apache-2.0

"""The record of a volume's RBD image.

What was created is in the column ``provider_id`` of the volume's own row,
which RBD does not use and Cinder's API shows to administrators only: one text
with the id of the image. Cinder's migrations copy and swap the column, so a
record of another image does not count.

Everything else is an item. Cinder joins the admin metadata with the metadata
of the tenant, row by row, in each administrator's query, and one row already
makes a volume with thousands of items several times as slow. Limits and
accepted values are therefore in another column that RBD does not use,
``replication_extended_status`` (:func:`packed`). A few drivers write it, and
none reads it: Cinder copies the columns of a volume to the target of a
migration, and drivers of iSCSI parse ``provider_auth``, for example. The disk
of the data, and what exists only for a time, are rows of admin metadata.
"""

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
from typing import Any
from typing import Protocol
import urllib.parse

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options.families import data_pool as data_pools

_VERSION = 1

#: The rows that continue the text of items in the row of a volume, for volumes
#: with unusually many.
RECORD_ITEMS = tuple(f'rbd:items_{n}' for n in range(2, 17))
#: Prefix of the names of keys; what QoS specs have set on the image. A key
#: replaces those of its family.
RECORD_QOS = 'rbd:qos_'
#: Prefix of the names of changeable keys; their value in the volume's metadata
#: that the API extension or the driver accepted last. A value without this
#: mark was set past the API extension.
RECORD_ACCEPTED = 'rbd:accepted_'

#: The marker of a retype: its progress, and what is required to complete it.
#: Removed at its end.
RECORD_CONVERSION = 'rbd:conversion'
#: Its text, which can be longer than the value of an item.
MARKER_TEXTS = (RECORD_CONVERSION, *(f'rbd:conversion_{n}' for n in range(4)))
#: Indicates that a volume has a marker. Its value is the same for all retypes,
#: and the former back end for a migration, because Cinder finds volumes by the
#: value of an item only.
RECORD_MARKED = 'rbd:marked'
MARKED = 'marked'
#: The new type of a retype that may need a migration, from the API extension:
#: Cinder does not pass it to the driver.
RECORD_NEW_TYPE = 'rbd:new_type'
#: All items of a marker.
MARKER_RECORDS = (*MARKER_TEXTS, RECORD_MARKED, RECORD_NEW_TYPE)

# Attributes of a volume, beside those of options.
#: The cache mode that the host of each attachment gives, by the attachment's
#: ID: null if the host decides, because it has no plug-in or no mode is
#: requested. After a live migration or a swap, it is in force at the next
#: start.
ATTRIBUTE_CACHE_MODES_IN_FORCE = f'{definitions.ALIAS}:cache_modes_in_force'
#: Where object size, striping and features were set, by these names.
ATTRIBUTE_ORIGINS = f'{definitions.ALIAS}:origins'
#: The reason why the volume could not be created.
ATTRIBUTE_REFUSED = f'{definitions.ALIAS}:refused'
#: The reason and the time of the last refused attachment.
ATTRIBUTE_ATTACH_REFUSED = f'{definitions.ALIAS}:attach_refused'
#: The progress of a conversion of the image by a retype, or the reason why the
#: last one was not possible. Items that do not apply are null.
ATTRIBUTE_CONVERSION = f'{definitions.ALIAS}:conversion'

# How a record writes an origin. Unknown ones count as volume metadata.
_LETTERS = {
    errors.Origin.VOLUME_METADATA: 'm',
    errors.Origin.VOLUME_TYPE: 't',
    errors.Origin.SOURCE_VOLUME: 's',
    errors.Origin.BACKEND: 'b',
    errors.Origin.GLANCE_IMAGE: 'g',
    errors.Origin.CLUSTER: 'c',
}
_ORIGINS = {letter: origin for origin, letter in _LETTERS.items()}

#: Length of the database columns.
MAX_VALUE = 255

# Prefixes of the short names of items that share a row, and of the items.
_PREFIXES = {
    '': keys.PREFIX,
    '.': RECORD_ACCEPTED,
    '_': RECORD_QOS,
}
# The same for a value that is in force as it was accepted.
_BOTH = '-'
_MARKS = '._-'
# What our text of the column begins with.
_OURS = 'rbd '


class Volume(Protocol):
    """A volume as in the database, with its admin metadata."""

    @property
    def cluster_name(self) -> str | None: ...
    @property
    def host(self) -> str | None: ...
    @property
    def name_id(self) -> str: ...
    @property
    def provider_id(self) -> str | None: ...
    @property
    def provider_location(self) -> str | None: ...
    @property
    def replication_driver_data(self) -> str | None: ...
    @property
    def replication_extended_status(self) -> str | None: ...
    @property
    def admin_metadata(self) -> Mapping[str, str] | None: ...


@dataclasses.dataclass(frozen=True)
class Record:
    """What the driver records about the image that a volume has.

    :ivar state: layout, features and data pool of the image, and where each
        part was set, if that is known
    :ivar backend: the back end whose driver wrote the record, as from
        :func:`backend_of`. A volume that moves to a back end without our
        driver can keep a record, which does not describe the image there.
    """

    state: options.Values
    backend: str = ''

    def text(self, image: str) -> str:
        """Return the record of an image, as the column has it.

        A name of a back end that does not fit is a digest, of its host or
        also of its section (:func:`is_same_section`).

        :param image: the id in the name of the image
        :raises OptionError: for a data pool whose name is too long. Keys and
            options accept names of up to 128 characters, which always fit.
        """
        letters = ''
        if self.state.origins is not None:
            chosen = (self.state.origins.get(part) for part in options.PARTS)
            letters = ''.join(
                _LETTERS[origin] if origin else '-' for origin in chosen
            )
        image_layout = self.state.layout
        for backend in _forms(self.backend):
            values = (
                _VERSION,
                image_layout.object_size,
                image_layout.stripe_unit,
                image_layout.stripe_count,
                features.to_mask(self.state.image_features),
                letters,
                backend,
                self.state.data_pool or '',
            )
            text = json.dumps(
                values, ensure_ascii=False, separators=(',', ':')
            )
            if len(image) + 1 + len(text) <= MAX_VALUE:
                return f'{image} {text}'
        error = data_pools.invalid(self.state.data_pool or '')
        raise error.at(errors.Origin.CLUSTER)


def read(volume: Volume) -> Record | None:
    """Return the record of the image that a volume has; None without one."""
    return parsed(text_of(volume))


def text_of(volume: Volume) -> str:
    """Return the values in the record of a volume; empty without one."""
    return _values_of(volume.provider_id, volume.name_id)


def parse(text: str | None, image: str) -> Record | None:
    """Return the record of an image from a text; None for another image."""
    return parsed(_values_of(text, image))


def _values_of(text: str | None, image: str) -> str:
    """Return the part of a record that does not name the image."""
    named, _, values = (text or '').partition(' ')
    return values if named == image else ''


def is_record(text: str | None) -> bool:
    """Return whether a column has a record, and no text of another driver."""
    return parsed((text or '').partition(' ')[2]) is not None


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> Record | None:
    """Return the values of a record; None for other or edited texts.

    Most volumes in a list have one of a few records.
    """
    try:
        version, size, unit, count, mask, letters, backend, pool = json.loads(
            text
        )
        if version != _VERSION or not all(
            type(number) is int and number > 0
            for number in (size, unit, count)
        ):
            return None
        return Record(
            options.image_values(
                layout.ImageLayout.from_numbers(size, unit, count),
                features.from_mask(mask),
                str(pool) or None,
                origins={
                    part: _ORIGINS.get(letter, errors.Origin.VOLUME_METADATA)
                    for part, letter in itertools.zip_longest(
                        options.PARTS, letters[: len(options.PARTS)]
                    )
                }
                if letters
                else None,
            ),
            str(backend),
        )
    except (AttributeError, RecursionError, TypeError, ValueError):
        return None


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values by key: sizes as digits, features as sorted names."""
    return {key: definitions.as_text(value) for key, value in values.items()}


def origins(volume: Volume) -> Mapping[str, errors.Origin] | None:
    """Return where each part of an image was set; None if not recorded.

    An unknown origin counts as the volume's own metadata, to which most limits
    apply.
    """
    recorded = read(volume)
    return recorded.state.origins if recorded else None


def layout_requested(
    volume: Volume,
    where: Collection[errors.Origin] = errors.ASKED,
) -> bool:
    """Return whether the recorded layout of an image was requested."""
    by_part = origins(volume) or {}
    return any(
        by_part.get(part) in where
        for part in (keys.OBJECT_SIZE, keys.STRIPING)
    )


def features_requested(volume: Volume) -> bool:
    """Return whether a volume's features were requested by an ``rbd:`` key."""
    by_part = origins(volume) or {}
    return by_part.get(keys.FEATURES) in errors.ASKED


def backend_of(volume: Volume) -> str:
    """Return the back end of a volume: ``host@backend``, or its cluster's."""
    return (volume.cluster_name or volume.host or '').partition('#')[0]


def state_here(volume: Volume) -> options.Values | None:
    """Return the recorded image on the current back end; None for no record.

    Only the section name of the back end is compared: ``cinder-manage volume
    update_host`` and a new cluster change the part before the ``@``.
    """
    return state_at(text_of(volume), backend_of(volume), items(volume))


def state_at(
    text: str, backend: str, items: Mapping[str, str]
) -> options.Values | None:
    """Act as :func:`state_here`, for the values of a record and items."""
    recorded = parsed(text)
    if not recorded or not is_same_section(recorded.backend, backend):
        return None
    disk: dict[str, Any] = {}
    with contextlib.suppress(errors.OptionError):
        disk = disk_in(items)
    return recorded.state.with_values({**configuration_in(items), **disk})


def _forms(backend: str) -> tuple[str, str, str]:
    """Return how a record can name a back end, the whole name first."""
    host, _, section = backend.rpartition('@')
    short = _digest(host)
    return backend, f'{short}@{section}', f'{short}@{_digest(section)}'


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def is_same_back_end(recorded: str, backend: str) -> bool:
    """Return whether a back end is the one that a record names."""
    return recorded in _forms(backend)


def is_same_section(recorded: str, backend: str) -> bool:
    """Return whether two back ends have the same section of cinder.conf.

    :param recorded: the back end of a record; empty for any
    """
    section = backend.rpartition('@')[2]
    named = recorded.rpartition('@')[2]
    return not named or named in (section, _digest(section))


def packed(
    items: Mapping[str, str], column: str | None
) -> tuple[str | None, dict[str, str]]:
    """Return items as they are stored: the column, and admin metadata.

    :param column: the stored one; that of another driver is kept
    """
    rows = dict(items)
    pairs: dict[str, str] = {}
    for short, option in _packable().items():
        for prefix, start in _PREFIXES.items():
            value = rows.pop(f'{start}{option.name}', None)
            if value is None:
                continue
            if prefix == '.' and pairs.get(short) == value:
                prefix = _BOTH
                del pairs[short]
            pairs[f'{prefix}{short}'] = value
    text = urllib.parse.urlencode(pairs)
    if column and not column.startswith(_OURS):
        return column, rows | in_rows(RECORD_ITEMS, text)
    length = MAX_VALUE - len(_OURS)
    rows |= in_rows(RECORD_ITEMS, text[length:])
    return f'{_OURS}{text[:length]}' if text else None, rows


def items(volume: Volume) -> dict[str, str]:
    """Return the items of a volume."""
    return unpacked(
        volume.admin_metadata or {}, volume.replication_extended_status
    )


def unpacked(
    admin_metadata: Mapping[str, str], column: str | None
) -> dict[str, str]:
    """Return the items of a volume as they are stored."""
    items = dict(admin_metadata)
    texts = [items.pop(row, '') for row in RECORD_ITEMS]
    if column and column.startswith(_OURS):
        texts.insert(0, column.removeprefix(_OURS))
    text = ''.join(texts)
    options = _packable() if text else {}
    for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True):
        option = options.get(name.lstrip(_MARKS))
        if option is not None:
            for prefix in ('', '.') if name[0] == _BOTH else (name[0],):
                start = _PREFIXES.get(prefix, keys.PREFIX)
                # A row of its own was written by an operator.
                items.setdefault(f'{start}{option.name}', value)
    return items


def in_rows(names: Collection[str], text: str) -> dict[str, str]:
    """Return a text as the values of one row or more; it is cut at the end."""
    parts = range(0, len(text), MAX_VALUE)
    return {
        name: text[start : start + MAX_VALUE]
        for name, start in zip(names, parts, strict=False)
    }


def _packable() -> dict[str, definitions.Option]:
    """Return the options whose values are recorded, by their short names."""
    options = {
        *registry.changeable(),
        *registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION),
    }
    return {_short(option.name): option for option in options}


def _short(name: str) -> str:
    return ''.join(word[0] for word in name.split('_'))


def has_disk(admin_metadata: Mapping[str, str]) -> bool:
    """Return whether properties of the disk of a volume are recorded."""
    return not admin_metadata.keys().isdisjoint(
        registry.keys_of_kind(definitions.Kind.DISK)
    )


def disk_in(admin_metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the recorded properties of the disk of a volume, by key.

    They are those of the data, whatever back end recorded them.

    :raises OptionError: for a record that was edited and is invalid
    """
    return {
        key: registry.OPTIONS[key].parse(admin_metadata[key])
        for key in registry.keys_of_kind(definitions.Kind.DISK)
        if key in admin_metadata
    }


def configuration_in(items: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration that the driver gave an image, by key."""
    values = {}
    for option in registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION):
        with contextlib.suppress(KeyError, errors.OptionError):
            values[option.key] = option.parse(items[option.key])
    return values
