# SPDX-License-Identifier: Apache-2.0

"""Options of Ceph in the metadata of an image, and in Cinder's record of it.

Some of them are limits on reads and writes that the keys of a volume request.
The driver records what it has set. An entry without a record, such as one of
Cinder's QoS specs or of an operator, contradicts only a recorded one of the
same family: the driver would remove it.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import re
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import records

# In other statuses, the driver may be changing the image or its record.
_SETTLED = frozenset({'available', 'in-use', 'reserved'})
_LIMIT = re.compile('[0-9]{1,20}')


def _options() -> list[definitions.Option]:
    return registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION)


def _recorded(volume: records.Volume) -> dict[str, Any]:
    """Return the recorded values, by the names of Ceph's options."""
    values = {}
    for option in _options():
        value = volume.made.get(option.attribute or '')
        if option.is_item:
            value = (value or {}).get(option.name)
        if value is not None:
            values[option.item] = value
    return values


def _differences(
    overrides: Mapping[str, str], volume: records.Volume
) -> dict[str, str]:
    """Return the differences, by the names of Ceph's options."""
    recorded = _recorded(volume)
    owned = {option.family for option in _options() if option.item in recorded}
    differing = {}
    for option in _options():
        if option.family not in owned:
            continue
        text = overrides.get(option.item)
        expected = recorded.get(option.item)
        if _parsed(option, text) != expected:
            differing[option.item] = (
                f'{option.item} is {text or "unset"}, recorded as '
                f'{"unset" if expected is None else expected}'
            )
    return differing


def _parsed(option: definitions.Option, text: str | None) -> Any:
    """Return a value as the API shows it; an invalid one as text."""
    if text is None:
        return None
    try:
        return definitions.as_json(option.parse(text))
    except errors.OptionError:
        return text


def is_settled(volume: records.Volume) -> bool:
    """Return whether no service is changing a volume or its record."""
    return volume.status in _SETTLED and not volume.migrating


def contradictions(
    image: images.Image, volume: records.Volume
) -> Iterator[str]:
    """Yield the differences between an image and the record of its volume."""
    has_record = definitions.ATTRIBUTE_OBJECT_SIZE in volume.made
    if has_record and is_settled(volume):
        yield from _differences(image.overrides, volume).values()


def unexplained(
    image: images.Image, volume: records.Volume | None
) -> Iterator[tuple[str, str]]:
    """Yield the options of Ceph that no record of a volume explains."""
    explained: set[str] = set()
    if volume is not None:
        recorded = _recorded(volume)
        differing = _differences(image.overrides, volume)
        explained = recorded.keys() | differing.keys()
    for name, value in sorted(image.overrides.items()):
        if name not in explained:
            yield name, value


def limits(overrides: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield what is limited, and the maximum per second.

    :param overrides: options of Ceph in the metadata of an image, also those
        that others than the driver have set
    """
    for each in keys.LIMITS:
        text = overrides.get(registry.OPTIONS[each.limit].item, '')
        # librbd takes 0 for no limit, and has 64 bits for a number.
        if _LIMIT.fullmatch(text) and int(text):
            yield each.name, int(text)
