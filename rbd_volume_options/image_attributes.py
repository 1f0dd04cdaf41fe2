# SPDX-License-Identifier: Apache-2.0

"""The attributes of a volume that show the record of its RBD image."""

import functools
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import precedence
from rbd_volume_options import wire


@functools.lru_cache(maxsize=256)
def of_record(
    backend: str, items: frozenset[tuple[str, str]], shows_pools: bool
) -> dict[str, Any]:
    """Return the attributes that depend on the record of a volume only.

    Most volumes in a list have one of a few records.
    """
    recorded = dict(items)
    state = image_record.of_backend(backend, recorded)
    values = state.values() if state else {}
    shown: dict[str, Any] = {}
    for option in definitions.OPTIONS.values():
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
        wire.ATTRIBUTE_REFUSED: image_record.refusal(recorded),
        wire.ATTRIBUTE_ATTACH_REFUSED: image_record.refused_attachment(
            recorded
        ),
    }


def _labels(text: str) -> dict[str, str]:
    """Return where each part of an image was set, from a record.

    An object size that no key sets is that of the back end
    (``rbd_store_chunk_size``), as in the response for volume types.
    """
    by_part = image_record.origins({wire.RECORD_ORIGINS: text}) or {}
    part = precedence.Part.OBJECT_SIZE
    if by_part[part] is errors.Origin.CLUSTER:
        by_part[part] = errors.Origin.BACKEND
    return {part.value: origin.label for part, origin in by_part.items()}
