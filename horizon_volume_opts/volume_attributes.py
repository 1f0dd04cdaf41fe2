# SPDX-License-Identifier: Apache-2.0

"""The attributes that Cinder's API extension adds to volumes."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry

#: The origins by their names in responses. A newer Cinder can have others.
ORIGINS: Mapping[Any, errors.Origin] = {
    origin.label: origin for origin in errors.Origin
}
#: What was refused after Cinder's API had accepted the request.
CREATION, ATTACHMENT, CONVERSION = 'creation', 'attachment', 'conversion'


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why the volume service or the API did not do what was requested.

    :ivar reason: a text of Cinder, for the user
    :ivar at: time of the refusal in ISO 8601; empty if unknown
    """

    step: str
    reason: str
    at: str = ''


@dataclasses.dataclass(frozen=True)
class Made:
    """The record of a volume.

    :ivar state: its RBD image; None if there is no record of it
    :ivar cache_modes: the cache mode of each attachment, by attachment ID;
        None if none is requested
    :ivar in_force: the mode that the compute host gives to each attachment;
        None if it does not tell
    :ivar origins: where each part of the image was set; empty if unknown
    :ivar refusals: the latest refusals that Cinder recorded
    :ivar configuration: values in the configuration of the image, by key
    """

    state: options.Values | None
    cache_modes: Mapping[str, str | None]
    origins: Mapping[str, errors.Origin] = dataclasses.field(
        default_factory=dict
    )
    refusals: tuple[Refusal, ...] = ()
    in_force: Mapping[str, str | None] = dataclasses.field(
        default_factory=dict
    )
    configuration: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def of_volume(volume: Any) -> Made:
    """Return the record of a volume.

    :param volume: a volume from Horizon or cinderclient. Horizon's class hides
        attributes that it does not list, so they are read from the original.
    """
    shown = vars(getattr(volume, '_apiresource', None) or volume)

    def modes(name: str) -> dict[str, str | None]:
        listed = _mapping(shown.get(name))
        return {key: _text(mode) or None for key, mode in listed.items()}

    return Made(
        _state(shown),
        modes(definitions.ATTRIBUTE_CACHE_MODES),
        _origins(_mapping(shown.get(image_record.ATTRIBUTE_ORIGINS))),
        tuple(_refusals(shown)),
        modes(image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE),
        dict(_configuration(shown)),
    )


def _configuration(shown: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for option in registry.OPTIONS.values():
        value = shown.get(option.attribute or '')
        if option.is_item:
            value = _mapping(value).get(option.name)
        if option.is_rarely_set and isinstance(value, str | int):
            yield option.key, value


def _state(shown: Mapping[str, Any]) -> options.Values | None:
    """Return the recorded image; None without a valid record of it.

    The attributes cross a network and can come from another release. A volume
    with an invalid one must not prevent a page with other volumes.
    """
    object_size = shown.get(definitions.ATTRIBUTE_OBJECT_SIZE)
    numbers: list[Any] = [
        object_size,
        shown.get(definitions.ATTRIBUTE_STRIPE_UNIT) or object_size,
        shown.get(definitions.ATTRIBUTE_STRIPE_COUNT) or 1,
    ]
    names = shown.get(definitions.ATTRIBUTE_FEATURES) or []
    pool = shown.get(definitions.ATTRIBUTE_DATA_POOL)
    if not all(map(_is_positive, numbers)):
        return None
    if not isinstance(names, list) or not all(map(_text, names)):
        return None
    return options.image_values(
        layout.ImageLayout.from_numbers(*numbers),
        frozenset(names),
        pool if _text(pool) else None,
    )


def _is_positive(value: Any) -> bool:
    return type(value) is int and value > 0


def _text(value: Any) -> str:
    """Return a text; an empty one in place of anything else."""
    return value if isinstance(value, str) else ''


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _refusals(shown: Mapping[str, Any]) -> Iterator[Refusal]:
    if reason := _text(shown.get(image_record.ATTRIBUTE_REFUSED)):
        yield Refusal(CREATION, reason)
    attaching = _mapping(shown.get(image_record.ATTRIBUTE_ATTACH_REFUSED))
    if reason := _text(attaching.get('reason')):
        at = _text(attaching.get('at'))
        yield Refusal(ATTACHMENT, reason, at)
    converting = _mapping(shown.get(image_record.ATTRIBUTE_CONVERSION))
    if reason := _text(converting.get('reason')):
        yield Refusal(CONVERSION, reason)


def _origins(
    shown: Mapping[str, Any],
) -> dict[str, errors.Origin]:
    """Return the known origins."""
    return {
        part: ORIGINS[label]
        for part in options.PARTS
        if (label := _text(shown.get(part.removeprefix(keys.PREFIX))))
        in ORIGINS
    }


def has_object_map(state: options.Values) -> bool:
    """Return whether an image has an object map."""
    return features.OBJECT_MAP in state.image_features
