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
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
from typing import Any
from typing import NamedTuple
from typing import Protocol
import urllib.parse

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import rate_limits
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_options.families import data_pool as data_pools

_VERSION = 1

#: The rows that continue the text of items in the row of a volume, for volumes
#: with unusually many.
RECORD_ITEMS = tuple(f'rbd:items_{n}' for n in range(2, 17))
#: Prefix of the names of keys; what QoS specs have set on the image. A key
#: replaces those of its family.
RECORD_QOS = 'rbd:qos_'
#: The last refusal: operation, time, request and reason, one a line. A longer
#: text continues in the next row. It is not in the image metadata, because
#: tenants can write that, and it is copied to snapshots and Glance images.
RECORD_REASON = ('rbd:reason', *(f'rbd:reason_{n}' for n in range(2, 5)))
#: Prefix of the names of changeable keys; their value in the volume's metadata
#: that the API extension or the driver accepted last. A value without this
#: mark was set past the API extension.
RECORD_ACCEPTED = 'rbd:accepted_'
#: During a restore: prefix of the name of each copy; the key follows.
RECORD_BEFORE_RESTORE = 'rbd:before_restore:'

#: Indicates that the configuration of the image is being changed, or that this
#: was interrupted. The record may differ from the image.
RECORD_CONFIGURING = 'rbd:configuring'
#: During a restore: indicates that the keys of the volume were copied.
RECORD_RESTORING = 'rbd:restoring'
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

# Operations of a reason that attributes of a volume show.
REASON_CREATION = 'creation'
REASON_ATTACHMENT = 'attachment'
REASON_RETYPE = 'retype'
REASON_LAYOUT = 'change of layout'
#: Operation of a notice: nothing was refused.
REASON_PROPERTY = 'property'

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
# Length of accepted values. A longer one is checked again where it takes
# effect.
_LONGEST_ACCEPTED = 32


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


class LimitedVolume(Protocol):
    """A volume with its keys."""

    @property
    def size(self) -> int: ...
    @property
    def metadata(self) -> Mapping[str, str] | None: ...


class Update(NamedTuple):
    """A change of the admin metadata.

    :ivar entries: the items to write
    :ivar stale: the names of items to remove, if they exist
    """

    entries: Mapping[str, str]
    stale: frozenset[str] = frozenset()


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
    return parse(volume.provider_id, volume.name_id)


def parse(text: str | None, image: str) -> Record | None:
    """Return the record of an image from a text; None for another image."""
    return _parsed(_values_of(text, image))


def _values_of(text: str | None, image: str) -> str:
    """Return the part of a record that does not name the image."""
    named, _, values = (text or '').partition(' ')
    return values if named == image else ''


def is_record(text: str | None) -> bool:
    """Return whether a column has a record, and no text of another driver."""
    return _parsed((text or '').partition(' ')[2]) is not None


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Record | None:
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
    recorded = read(volume)
    if not recorded or not is_same_section(
        recorded.backend, backend_of(volume)
    ):
        return None
    return _with_items(recorded, items(volume))


def _with_items(
    recorded: Record, admin_metadata: Mapping[str, str]
) -> options.Values:
    disk: dict[str, Any] = {}
    with contextlib.suppress(errors.OptionError):
        disk = disk_in(admin_metadata)
    return recorded.state.with_values(
        {**configuration_in(admin_metadata), **disk}
    )


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
    found = dict(admin_metadata)
    texts = [found.pop(row, '') for row in RECORD_ITEMS]
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
                found.setdefault(f'{start}{option.name}', value)
    return found


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


def delaying(
    work: Mapping[str, int],
    volume: LimitedVolume,
    admin_metadata: Mapping[str, str],
) -> list[str]:
    """Return the limits of its owner that make a work on a volume slow.

    :param work: such as :data:`rbd_volume_options.rate_limits.UPLOAD`
    """
    return rate_limits.delaying(
        work,
        volume.size * sizes.GIB,
        configuration_in(admin_metadata),
        volume.metadata or {},
    )


def created_items(
    accepted: Mapping[str, str] | None = None,
    configuration: Mapping[str, Any] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> Update:
    """Return the admin metadata of a volume whose image was created.

    Image configuration is recorded only if the driver set it. An image can
    have the same entries from Cinder's QoS specs or from its operator.

    :param accepted: the metadata with which the volume was accepted; None if
        it was not checked again. Earlier values that are not in it are checked
        again if somebody sets them.
    :param configuration: what the driver set, by key; None to keep it
    :param disk: the properties of the disk of a new volume, by key. They stay
        as long as the volume exists: its data depends on them.
    """
    entries = as_texts({**(configuration or {}), **(disk or {})})
    entries |= _accepted(accepted or {})
    stale = set()
    if accepted is not None:
        stale |= _names_accepted(registry.OPTIONS)
    if configuration is not None:
        stale |= {*registry.keys_of_kind(definitions.Kind.IMAGE_CONFIGURATION)}
    return Update(entries, frozenset(stale - entries.keys()))


def configuration_items(configuration: Mapping[str, Any]) -> Update:
    """Return the record of what the driver set on an image, by key."""
    entries = as_texts(configuration)
    stale = {
        RECORD_CONFIGURING,
        *registry.keys_of_kind(definitions.Kind.IMAGE_CONFIGURATION),
    }
    return Update(entries, frozenset(stale - entries.keys()))


def qos_items(values: Mapping[str, Any]) -> Update:
    """Return the record of what QoS specs set on an image.

    :param values: by the name of Ceph's option
    """
    entries = {}
    names = set()
    for option in registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION):
        name = f'{RECORD_QOS}{option.name}'
        names.add(name)
        if number := rate_limits.number_of_ceph(values.get(option.item)):
            entries[name] = str(number)
    return Update(entries, frozenset(names - entries.keys()))


def _qos_in(items: Mapping[str, str]) -> dict[str, int]:
    """Return the recorded values of QoS specs, by key."""
    return {
        f'{keys.PREFIX}{name.removeprefix(RECORD_QOS)}': int(number)
        for name, number in items.items()
        if name.startswith(RECORD_QOS)
        and number.isascii()
        and number.isdigit()
    }


def accepted_items(
    metadata: Mapping[str, str], removed: Iterable[str] = ()
) -> Update:
    """Return the record of accepted changes of a volume's metadata.

    Only changeable keys are recorded: they take effect later, and who may set
    them can change in between. Removed values are checked again if somebody
    sets them.
    """
    entries = _accepted(metadata)
    stale = _names_accepted({*removed, *metadata})
    return Update(entries, frozenset(stale - entries.keys()))


def items_before_restore(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the record of the keys of a volume before a restore."""
    return {
        **{
            RECORD_BEFORE_RESTORE + key.removeprefix(keys.PREFIX): value
            for key, value in metadata.items()
            if key in registry.volume_keys()
        },
        RECORD_RESTORING: 'True',
    }


def before_restore(admin_metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that a volume had before a restore, with values."""
    return {
        keys.PREFIX + name.removeprefix(RECORD_BEFORE_RESTORE): value
        for name, value in admin_metadata.items()
        if name.startswith(RECORD_BEFORE_RESTORE)
    }


def _accepted(metadata: Mapping[str, str]) -> dict[str, str]:
    return {
        f'{RECORD_ACCEPTED}{option.name}': metadata[option.key]
        for option in registry.changeable()
        if 0 < len(metadata.get(option.key, '')) <= _LONGEST_ACCEPTED
    }


def _names_accepted(of_keys: Iterable[str]) -> set[str]:
    return {
        f'{RECORD_ACCEPTED}{option.name}'
        for option in registry.changeable()
        if option.key in set(of_keys)
    }


def families_set(items: Mapping[str, str]) -> set[str]:
    """Return the families that the driver may have set, or begun to."""
    changing = items.get(RECORD_CONFIGURING, '')
    return {
        registry.OPTIONS[key].family for key in configuration_in(items)
    }.union(filter(None, changing.split(',')))


def values_accepted(items: Mapping[str, str]) -> dict[str, str]:
    """Return the values of changeable keys that were accepted, by key."""
    return {
        f'{keys.PREFIX}{name.removeprefix(RECORD_ACCEPTED)}': value
        for name, value in items.items()
        if name.startswith(RECORD_ACCEPTED)
    }


def is_accepted(items: Mapping[str, str], key: str, value: str) -> bool:
    """Return whether the value of a changeable key was accepted."""
    return values_accepted(items).get(key) == value


class Reason(NamedTuple):
    """Why the last refused operation on a volume was refused.

    :ivar operation: one of ``REASON_``, or another word for people
    :ivar at: time in ISO 8601, UTC
    :ivar request: the id of the request
    :ivar text: for tenants
    """

    operation: str
    at: str
    request: str
    text: str

    def rows(self) -> Update:
        """Return the record of the reason, whose text may be shortened."""
        text = '\n'.join(self)
        longest = MAX_VALUE * len(RECORD_REASON)
        rows = in_rows(RECORD_REASON, shortened(text, longest))
        return Update(rows, frozenset(RECORD_REASON) - rows.keys())


def reason(admin_metadata: Mapping[str, str], *of: str) -> Reason | None:
    """Return the recorded reason; None without one.

    :param of: the only operations whose reason counts
    """
    text = ''.join(admin_metadata.get(row, '') for row in RECORD_REASON)
    fields = text.split('\n', 3)
    if len(fields) < 4 or (of and fields[0] not in of):
        return None
    return Reason(*fields)


def without_reason(
    items: Mapping[str, str], operations: Collection[str]
) -> dict[str, str]:
    """Return admin metadata without the reason, if it is of an operation."""
    if not reason(items, *operations):
        return dict(items)
    return {k: v for k, v in items.items() if k not in RECORD_REASON}


def message(
    admin_metadata: Mapping[str, str], request_id: str | None, text: str = ''
) -> str:
    """Return Cinder's message about a request, with a stored reason.

    :param text: Cinder's own text, which a mere notice replaces
    """
    stored = reason(admin_metadata)
    if not stored or not stored.request or stored.request != request_id:
        return text
    if stored.operation == REASON_PROPERTY:
        return stored.text
    return f'{text} {stored.operation} refused: {stored.text}'.lstrip()


def refused_attachment(
    admin_metadata: Mapping[str, str],
) -> dict[str, str] | None:
    """Return the reason and the time (ISO 8601, UTC) of the last refusal."""
    stored = reason(admin_metadata, REASON_ATTACHMENT)
    if stored is None:
        return None
    return {
        'reason': stored.text,
        'at': stored.at,
    }


def shortened(text: str, length: int = MAX_VALUE) -> str:
    """Return a text of at most some characters, marked if it was truncated."""
    return text if len(text) <= length else f'{text[: length - 3]}...'


def attributes_of(
    volume: Volume, items: Mapping[str, str], shows_pools: bool
) -> dict[str, Any]:
    """Return the attributes that depend on the record of a volume only."""
    return _attributes(
        _values_of(volume.provider_id, volume.name_id),
        backend_of(volume),
        frozenset(items.items()),
        shows_pools,
    )


@functools.lru_cache(maxsize=256)
def _attributes(
    text: str,
    backend: str,
    frozen: frozenset[tuple[str, str]],
    shows_pools: bool,
) -> dict[str, Any]:
    admin_metadata = dict(frozen)
    recorded = _parsed(text)
    if recorded and not is_same_section(recorded.backend, backend):
        recorded = None
    values: dict[str, Any] = {}
    if recorded:
        values = _with_items(recorded, admin_metadata).by_option()
        replaced = families_set(admin_metadata)
        values |= {
            key: number
            for key, number in _qos_in(admin_metadata).items()
            if key in registry.OPTIONS
            and registry.OPTIONS[key].family not in replaced
        }
    shown: dict[str, Any] = {}
    for option in registry.OPTIONS.values():
        if option.attribute is None:
            continue
        if option.is_item:
            shown_items = shown.setdefault(option.attribute, {})
            if option.key in values:
                shown_items[option.name] = values[option.key]
            continue
        value = values.get(option.key)
        if option.kind is definitions.Kind.DATA_POOL and not shows_pools:
            value = None
        shown[option.attribute] = definitions.as_json(value)
    by_part = recorded.state.origins if recorded else None
    creation = reason(admin_metadata, REASON_CREATION)
    return {
        **shown,
        ATTRIBUTE_ORIGINS: None if by_part is None else _labels(by_part),
        ATTRIBUTE_REFUSED: creation.text if creation else None,
        ATTRIBUTE_ATTACH_REFUSED: refused_attachment(admin_metadata),
    }


def _labels(
    by_part: Mapping[str, errors.Origin],
) -> dict[str, str]:
    """Return where each part of an image was set, as responses have it.

    An object size that no key sets is that of the back end
    (``rbd_store_chunk_size``), as in the response for volume types.
    """
    part = keys.OBJECT_SIZE
    shown = dict(by_part)
    if shown[part] is errors.Origin.CLUSTER:
        shown[part] = errors.Origin.BACKEND
    return {
        part.removeprefix(keys.PREFIX): origin.label
        for part, origin in shown.items()
    }
