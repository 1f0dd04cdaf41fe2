# SPDX-License-Identifier: Apache-2.0

"""What the items of a volume say about its keys, and how they change.

:mod:`rbd_volume_options.image_record` says where each item is stored.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple
from typing import Protocol

from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import rate_limits
from rbd_volume_options import registry
from rbd_volume_options import sizes

#: During a restore: prefix of the name of each copy; the key follows.
RECORD_BEFORE_RESTORE = 'rbd:before_restore:'
#: Indicates that the configuration of the image is being changed, or that this
#: was interrupted. The record may differ from the image.
RECORD_CONFIGURING = 'rbd:configuring'
#: During a restore: indicates that the keys of the volume were copied.
RECORD_RESTORING = 'rbd:restoring'

# Length of accepted values. A longer one is checked again where it takes
# effect.
_LONGEST_ACCEPTED = 32


class Limited(Protocol):
    """A volume with its keys."""

    @property
    def size(self) -> int: ...
    @property
    def metadata(self) -> Mapping[str, str] | None: ...


class Update(NamedTuple):
    """A change of the items.

    :ivar entries: the items to write
    :ivar stale: the names of items to remove, if they exist
    """

    entries: Mapping[str, str]
    stale: frozenset[str] = frozenset()


def replacing(names: Iterable[str], entries: Mapping[str, str]) -> Update:
    """Return the change of the items with some names to others."""
    return Update(entries, frozenset(names) - entries.keys())


def _of_images() -> list[definitions.Option]:
    return registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION)


def created(
    accepted: Mapping[str, str] | None = None,
    configuration: Mapping[str, Any] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> Update:
    """Return the items of a volume whose image was created.

    Image configuration is recorded only if the driver set it. An image can
    have the same entries from Cinder's QoS specs or from its operator.

    :param accepted: the metadata with which the volume was accepted; None if
        it was not checked again. Earlier values that are not in it are checked
        again if somebody sets them.
    :param configuration: what the driver set, by key; None to keep it
    :param disk: the properties of the disk of a new volume, by key. They stay
        as long as the volume exists: its data depends on them.
    """
    entries = image_record.as_texts({**(configuration or {}), **(disk or {})})
    names: set[str] = set()
    if accepted is not None:
        entries |= _accepted(accepted)
        names |= _names_accepted(registry.OPTIONS)
    if configuration is not None:
        names.update(option.key for option in _of_images())
    return replacing(names, entries)


def configured(configuration: Mapping[str, Any]) -> Update:
    """Return the record of what the driver set on an image, by key."""
    names = [RECORD_CONFIGURING, *(option.key for option in _of_images())]
    return replacing(names, image_record.as_texts(configuration))


def limited(values: Mapping[str, Any]) -> Update:
    """Return the record of what QoS specs set on an image.

    :param values: by the name of Ceph's option
    """
    numbers = {
        f'{image_record.RECORD_QOS}{option.name}': rate_limits.number_of_ceph(
            values.get(option.item)
        )
        for option in _of_images()
    }
    return replacing(numbers, {k: str(n) for k, n in numbers.items() if n})


def qos_limits(items: Mapping[str, str]) -> dict[str, int]:
    """Return the recorded values of QoS specs, by key."""
    return {
        key: int(number)
        for key, number in _with_prefix(items, image_record.RECORD_QOS).items()
        if number.isascii() and number.isdigit()
    }


def accepted(
    metadata: Mapping[str, str], removed: Iterable[str] = ()
) -> Update:
    """Return the record of accepted changes of a volume's metadata.

    Only changeable keys are recorded: they take effect later, and who may set
    them can change in between. Removed values are checked again if somebody
    sets them.
    """
    names = _names_accepted({*removed, *metadata})
    return replacing(names, _accepted(metadata))


def _accepted(metadata: Mapping[str, str]) -> dict[str, str]:
    return {
        f'{image_record.RECORD_ACCEPTED}{option.name}': metadata[option.key]
        for option in registry.changeable()
        if 0 < len(metadata.get(option.key, '')) <= _LONGEST_ACCEPTED
    }


def _names_accepted(of_keys: Iterable[str]) -> set[str]:
    return {
        f'{image_record.RECORD_ACCEPTED}{option.name}'
        for option in registry.changeable()
        if option.key in of_keys
    }


def values_accepted(items: Mapping[str, str]) -> dict[str, str]:
    """Return the values of changeable keys that were accepted, by key."""
    return _with_prefix(items, image_record.RECORD_ACCEPTED)


def _with_prefix(items: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the values of the items whose name is a prefix and a key's."""
    return {
        f'{keys.PREFIX}{name.removeprefix(prefix)}': value
        for name, value in items.items()
        if name.startswith(prefix)
    }


def families_set(items: Mapping[str, str]) -> set[str]:
    """Return the families that the driver may have set, or begun to."""
    changing = items.get(RECORD_CONFIGURING, '')
    return {
        registry.OPTIONS[key].family
        for key in image_record.configuration_in(items)
    }.union(filter(None, changing.split(',')))


def saved_for_restore(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the record of the keys of a volume before a restore."""
    return {
        **{
            RECORD_BEFORE_RESTORE + key.removeprefix(keys.PREFIX): value
            for key, value in metadata.items()
            if key in registry.volume_keys()
        },
        RECORD_RESTORING: 'True',
    }


def before_restore(items: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that a volume had before a restore, with values."""
    return _with_prefix(items, RECORD_BEFORE_RESTORE)


def delaying(
    work: Mapping[str, int],
    volume: Limited,
    items: Mapping[str, str],
) -> list[str]:
    """Return the limits of its owner that make a work on a volume slow.

    :param work: such as :data:`rbd_volume_options.rate_limits.UPLOAD`
    """
    return rate_limits.delaying(
        work,
        volume.size * sizes.GIB,
        image_record.configuration_in(items),
        volume.metadata or {},
    )
