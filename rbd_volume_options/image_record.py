# SPDX-License-Identifier: Apache-2.0

"""The record of a volume's RBD image, as items of its admin metadata."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import itertools
from typing import Any
from typing import NamedTuple
from typing import Protocol

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import qos
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_options import wire

_LAYOUT = (keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT)
_ORIGIN_OF_WORD = {origin.name.lower(): origin for origin in errors.Origin}

# Length of the database column of admin metadata.
_MAX_VALUE = 255


class Volume(Protocol):
    @property
    def cluster_name(self) -> str | None: ...
    @property
    def host(self) -> str | None: ...


class Recorded(Protocol):
    """A volume with its keys and its record."""

    @property
    def size(self) -> int: ...
    @property
    def metadata(self) -> Mapping[str, str] | None: ...
    @property
    def admin_metadata(self) -> Mapping[str, str]: ...


class Update(NamedTuple):
    """A change of a record.

    :ivar entries: the items to write
    :ivar stale: the names of items to remove, if they exist
    """

    entries: Mapping[str, str]
    stale: frozenset[str] = frozenset()


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values by key: sizes as digits, features as sorted names."""
    return {key: definitions.as_text(value) for key, value in values.items()}


def origins(
    admin_metadata: Mapping[str, str],
) -> dict[precedence.Part, errors.Origin] | None:
    """Return where each part of an image was set; None if not recorded.

    An unknown origin counts as the volume's own metadata, to which most limits
    apply.
    """
    text = admin_metadata.get(wire.RECORD_ORIGINS)
    if text is None:
        return None
    words = dict(word.partition('=')[::2] for word in text.split(','))
    return {
        part: _ORIGIN_OF_WORD.get(
            words.get(part.value, ''), errors.Origin.VOLUME_METADATA
        )
        for part in precedence.Part
    }


def layout_requested(
    recorded: Mapping[str, str],
    where: Collection[errors.Origin] = precedence.ASKED,
) -> bool:
    """Return whether an admin metadata has a layout that was requested."""
    by_part = origins(recorded) or {}
    return any(
        by_part.get(part) in where
        for part in (precedence.Part.OBJECT_SIZE, precedence.Part.STRIPING)
    )


def features_requested(recorded: Mapping[str, str]) -> bool:
    """Return whether a volume's features were requested by an ``rbd:`` key."""
    by_part = origins(recorded) or {}
    return by_part.get(precedence.Part.FEATURES) in precedence.ASKED


def backend_of(volume: Volume) -> str:
    """Return the back end of a volume: ``host@backend``, or its cluster's."""
    return (volume.cluster_name or volume.host or '').partition('#')[0]


def of_volume(
    volume: Volume, admin_metadata: Mapping[str, str]
) -> plan.ImageState | None:
    """Return the recorded image on the current back end; None for no record.

    Only the section name of the back end is compared: ``cinder-manage volume
    update_host`` and a new cluster change the part before the ``@``.
    """
    return of_backend(backend_of(volume), admin_metadata)


def of_backend(
    backend: str, admin_metadata: Mapping[str, str]
) -> plan.ImageState | None:
    """Act as :func:`of_volume` for a volume on a back end."""
    maker = admin_metadata.get(wire.RECORD_RECORDED_BY)
    if maker and not is_same_section(maker, backend):
        return None
    return read(admin_metadata)


def is_same_section(backend: str, other: str) -> bool:
    """Return whether two back ends have the same section of cinder.conf."""
    return backend.rpartition('@')[2] == other.rpartition('@')[2]


def read(admin_metadata: Mapping[str, str]) -> plan.ImageState | None:
    """Return the recorded state of an image; None without a valid record."""
    try:
        image_layout = layout.ImageLayout.of(
            *(sizes.parse_count(key, admin_metadata[key]) for key in _LAYOUT)
        )
        names = frozenset(admin_metadata[keys.FEATURES].split(','))
    except (KeyError, ValueError):
        return None
    disk: dict[str, Any] = {}
    with contextlib.suppress(errors.OptionError):
        disk = disk_in(admin_metadata)
    return plan.ImageState(
        image_layout,
        names & frozenset(features.FEATURES),
        admin_metadata.get(keys.DATA_POOL),
        configuration_in(admin_metadata),
        disk,
    )


def has_disk(admin_metadata: Mapping[str, str]) -> bool:
    """Return whether properties of the disk of a volume are recorded."""
    return not keys_of(definitions.Kind.DISK).isdisjoint(admin_metadata)


def disk_in(admin_metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the recorded properties of the disk of a volume, by key.

    They are those of the data, whatever back end recorded them.

    :raises OptionError: for a record that was edited and is invalid
    """
    return {
        key: registry.OPTIONS[key].parse(admin_metadata[key])
        for key in keys_of(definitions.Kind.DISK)
        if key in admin_metadata
    }


def configuration_in(admin_metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration that the driver gave an image, by key."""
    values = {}
    for option in registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION):
        with contextlib.suppress(KeyError, errors.OptionError):
            values[option.key] = option.parse(admin_metadata[option.key])
    return values


def delaying(work: Mapping[str, int], volume: Recorded) -> list[str]:
    """Return the limits of its owner that make a work on a volume slow.

    :param work: such as :data:`rbd_volume_options.qos.UPLOAD`
    """
    return qos.delaying(
        work,
        volume.size * sizes.GIB,
        configuration_in(volume.admin_metadata),
        volume.metadata or {},
    )


def keys_of(kind: definitions.Kind) -> set[str]:
    """Return the keys of the options of a kind."""
    return {option.key for option in registry.of_kind(kind)}


def of_image(
    state: plan.ImageState,
    backend: str | None = None,
    by_part: Mapping[precedence.Part, errors.Origin] | None = None,
    accepted: Mapping[str, str] | None = None,
    configuration: Mapping[str, Any] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> Update:
    """Return the record of the image that was created for a volume.

    Image configuration is recorded only if the driver set it. An image can
    have the same entries from Cinder's QoS specs or from its operator.

    :param backend: as from :func:`backend_of`; None to keep the recorded one
    :param by_part: where each part was set; None to keep what is recorded
    :param accepted: the metadata with which the volume was accepted; None if
        it was not checked again. Earlier values that are not in it are checked
        again if somebody sets them.
    :param configuration: what the driver set, by key; None to keep it
    :param disk: the properties of the disk of a new volume, by key. They stay
        in the record as long as the volume exists: its data depends on them.
    """
    bare = dataclasses.replace(
        state, configuration=configuration or {}, disk=disk or {}
    )
    entries = as_texts(bare.values()) | _accepted(accepted or {})
    if backend:
        entries[wire.RECORD_RECORDED_BY] = backend
    if by_part is not None:
        entries[wire.RECORD_ORIGINS] = ','.join(
            f'{part.value}={origin.name.lower()}'
            for part, origin in by_part.items()
        )
    # Keys that the image does not have any more, such as a data pool.
    stale = {*wire.RECORD_REFUSED, *registry.OPTIONS}
    stale -= keys_of(definitions.Kind.DISK)
    if accepted is not None:
        stale |= _names_accepted(registry.OPTIONS)
    if configuration is None:
        stale -= keys_of(definitions.Kind.IMAGE_CONFIGURATION)
    return Update(entries, frozenset(stale - entries.keys()))


def of_configuration(configuration: Mapping[str, Any]) -> Update:
    """Return the record of what the driver set on an image, by key."""
    entries = as_texts(configuration)
    stale = {
        wire.RECORD_CONFIGURING,
        *keys_of(definitions.Kind.IMAGE_CONFIGURATION),
    }
    return Update(entries, frozenset(stale - entries.keys()))


def of_accepted(
    metadata: Mapping[str, str], removed: Iterable[str] = ()
) -> Update:
    """Return the record of accepted changes of a volume's metadata.

    Only changeable keys are recorded: they take effect later, and who may set
    them can change in between. Removed values are checked again if somebody
    sets them.
    """
    return Update(_accepted(metadata), frozenset(_names_accepted(removed)))


def of_restore(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the record of the keys of a volume before a restore."""
    return {
        **{
            wire.RECORD_BEFORE_RESTORE + key.removeprefix(keys.PREFIX): value
            for key, value in metadata.items()
            if key in registry.volume_keys()
        },
        wire.RECORD_RESTORING: 'True',
    }


def before_restore(admin_metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that a volume had before a restore, with values."""
    return {
        keys.PREFIX + name.removeprefix(wire.RECORD_BEFORE_RESTORE): value
        for name, value in admin_metadata.items()
        if name.startswith(wire.RECORD_BEFORE_RESTORE)
    }


def of_refusal(text: str) -> Update:
    """Return the record of why a volume could not be created."""
    text = shortened(text, _MAX_VALUE * len(wire.RECORD_REFUSED))
    parts = range(0, len(text), _MAX_VALUE)
    entries = {
        name: text[start : start + _MAX_VALUE]
        for name, start in zip(wire.RECORD_REFUSED, parts, strict=False)
    }
    return Update(entries, frozenset(wire.RECORD_REFUSED) - entries.keys())


def _accepted(metadata: Mapping[str, str]) -> dict[str, str]:
    return {
        f'{wire.RECORD_ACCEPTED}{option.name}': metadata[option.key]
        for option in registry.changeable()
        if metadata.get(option.key)
    }


def _names_accepted(of_keys: Iterable[str]) -> set[str]:
    return {
        f'{wire.RECORD_ACCEPTED}{option.name}'
        for option in registry.changeable()
        if option.key in set(of_keys)
    }


def families_set(admin_metadata: Mapping[str, str]) -> set[str]:
    """Return the families that the driver may have set, or begun to."""
    changing = admin_metadata.get(wire.RECORD_CONFIGURING, '')
    return {
        registry.OPTIONS[key].family
        for key in configuration_in(admin_metadata)
    }.union(filter(None, changing.split(',')))


def values_accepted(admin_metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the values of changeable keys that were accepted, by key."""
    return {
        f'{keys.PREFIX}{name.removeprefix(wire.RECORD_ACCEPTED)}': value
        for name, value in admin_metadata.items()
        if name.startswith(wire.RECORD_ACCEPTED)
    }


def is_accepted(
    admin_metadata: Mapping[str, str], key: str, value: str
) -> bool:
    """Return whether the value of a changeable key was accepted."""
    name = registry.OPTIONS[key].name
    return admin_metadata.get(f'{wire.RECORD_ACCEPTED}{name}') == value


def refusal(admin_metadata: Mapping[str, str]) -> str | None:
    """Return why a volume could not be created; None for no failure."""
    parts = (admin_metadata.get(name, '') for name in wire.RECORD_REFUSED)
    return ''.join(itertools.takewhile(bool, parts)) or None


def message_reason(
    admin_metadata: Mapping[str, str], request_id: str | None
) -> str | None:
    """Return the reason for the message of a request; None if not stored."""
    stored = admin_metadata.get(wire.RECORD_MESSAGE_REQUEST)
    if not stored or stored != request_id:
        return None
    return admin_metadata.get(wire.RECORD_MESSAGE)


def refused_attachment(
    admin_metadata: Mapping[str, str],
) -> dict[str, str] | None:
    """Return the reason and the time (ISO 8601, UTC) of the last refusal."""
    reason = admin_metadata.get(wire.RECORD_ATTACH_REFUSED)
    at = admin_metadata.get(wire.RECORD_ATTACH_REFUSED_AT)
    if not reason or not at:
        return None
    return {wire.ATTACH_REFUSED_REASON: reason, wire.ATTACH_REFUSED_AT: at}


def shortened(text: str, length: int = _MAX_VALUE) -> str:
    """Return a text of at most some characters, marked if it was truncated."""
    return text if len(text) <= length else f'{text[: length - 3]}...'


@functools.lru_cache(maxsize=256)
def attributes_of(
    backend: str, items: frozenset[tuple[str, str]], shows_pools: bool
) -> dict[str, Any]:
    """Return the attributes that depend on the record of a volume only.

    Most volumes in a list have one of a few records.
    """
    recorded = dict(items)
    state = of_backend(backend, recorded)
    values = state.values() if state else {}
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
    origins = recorded.get(wire.RECORD_ORIGINS) if state else None
    return {
        **shown,
        wire.ATTRIBUTE_ORIGINS: None if origins is None else _labels(origins),
        wire.ATTRIBUTE_REFUSED: refusal(recorded),
        wire.ATTRIBUTE_ATTACH_REFUSED: refused_attachment(recorded),
    }


def _labels(text: str) -> dict[str, str]:
    """Return where each part of an image was set, from a record.

    An object size that no key sets is that of the back end
    (``rbd_store_chunk_size``), as in the response for volume types.
    """
    by_part = origins({wire.RECORD_ORIGINS: text}) or {}
    part = precedence.Part.OBJECT_SIZE
    if by_part[part] is errors.Origin.CLUSTER:
        by_part[part] = errors.Origin.BACKEND
    return {part.value: origin.label for part, origin in by_part.items()}
