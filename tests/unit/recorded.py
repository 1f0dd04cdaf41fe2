# SPDX-License-Identifier: Apache-2.0

"""The record of a volume as items, which tests write and compare."""

from collections.abc import Mapping
from typing import Any

from cinder_rbd_ext import reasons
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

#: Items that have no key: where each part was set, and the back end.
ORIGINS = 'rbd:origins'
MAKER = 'rbd:recorded_by'

_OF_IMAGE = (
    *(keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT),
    *(keys.FEATURES, keys.DATA_POOL, ORIGINS, MAKER),
)


def record_of(items: Mapping[str, str]) -> image_record.Record | None:
    """Return the record that has these items; None without an image."""
    numbers = [
        items.get(key, '')
        for key in (keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT)
    ]
    if not all(number.isdigit() for number in numbers):
        return None
    words = dict(
        word.split('=') for word in items.get(ORIGINS, '').split(',') if word
    )
    return image_record.Record(
        options.image_values(
            layout.ImageLayout.from_numbers(*map(int, numbers)),
            frozenset(items[keys.FEATURES].split(',')) - {''},
            items.get(keys.DATA_POOL),
        ).with_origins(
            {
                part: errors.Origin[
                    words[part.removeprefix(keys.PREFIX)].upper()
                ]
                for part in options.PARTS
                if part.removeprefix(keys.PREFIX) in words
            }
            if words
            else None
        ),
        items.get(MAKER, ''),
    )


def text_of(items: Mapping[str, str], image: str) -> str | None:
    """Return the column of an image that has these items."""
    record = record_of(items)
    return record.text(image) if record else None


def rows_of(items: Mapping[str, str]) -> dict[str, str]:
    """Return those of the items that are in the admin metadata."""
    return {k: v for k, v in items.items() if k not in _OF_IMAGE}


def items_of(volume: Any) -> dict[str, str]:
    """Return the record of a volume and its admin metadata as items."""
    record = image_record.read(volume)
    items = image_record.items(volume)
    if record is None:
        return items
    items = {
        **items,
        **image_record.as_texts(record.state.by_option()),
    }
    if record.backend:
        items[MAKER] = record.backend
    if record.state.origins is not None:
        items[ORIGINS] = ','.join(
            f'{part.removeprefix(keys.PREFIX)}={origin.name.lower()}'
            for part, origin in record.state.origins.items()
        )
    return items


def reason_of(volume: Any) -> str:
    """Return the last recorded reason, as a user message shows it."""
    reason = reasons.stored(volume.admin_metadata)
    return f'{reason.operation} refused: {reason.text}' if reason else ''


def refused(admin_metadata: Mapping[str, str], *operations: str) -> str | None:
    """Return the reason of the last refusal, if it is of an operation."""
    reason = reasons.stored(admin_metadata, *operations)
    return reason.text if reason else None
