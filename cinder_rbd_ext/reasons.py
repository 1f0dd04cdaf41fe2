# SPDX-License-Identifier: Apache-2.0

"""The reason of the last refusal, in the admin metadata of a volume.

It is not in the image metadata, because tenants can write that, and it is
copied to snapshots and Glance images.
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import NamedTuple

from rbd_volume_options import image_record
from rbd_volume_options import volume_items

# The rows of its text: operation, time, request and reason, one a line. A
# longer text continues in the next row.
_ROWS = ('rbd:reason', *(f'rbd:reason_{n}' for n in range(2, 5)))
_LONGEST = image_record.MAX_VALUE * len(_ROWS)

# Operations that attributes of a volume show.
CREATION = 'creation'
ATTACHMENT = 'attachment'
RETYPE = 'retype'
LAYOUT = 'change of layout'
#: Operation of a notice: nothing was refused.
PROPERTY = 'property'


class Reason(NamedTuple):
    """Why the last refused operation on a volume was refused.

    :ivar operation: one of these, or another word for people
    :ivar at: time in ISO 8601, UTC
    :ivar request: the id of the request
    :ivar text: for tenants
    """

    operation: str
    at: str
    request: str
    text: str

    def rows(self) -> volume_items.Update:
        """Return the record of the reason, whose text may be shortened."""
        text = '\n'.join(self)
        if len(text) > _LONGEST:
            text = f'{text[: _LONGEST - 3]}...'
        return volume_items.replacing(_ROWS, image_record.in_rows(_ROWS, text))


def stored(admin_metadata: Mapping[str, str], *of: str) -> Reason | None:
    """Return the recorded reason; None without one.

    :param of: the only operations whose reason counts
    """
    text = ''.join(admin_metadata.get(row, '') for row in _ROWS)
    fields = text.split('\n', 3)
    if len(fields) < 4 or (of and fields[0] not in of):
        return None
    return Reason(*fields)


def removed(
    items: Mapping[str, str], operations: Collection[str]
) -> dict[str, str]:
    """Return admin metadata without the reason, if it is of an operation."""
    if not stored(items, *operations):
        return dict(items)
    return {k: v for k, v in items.items() if k not in _ROWS}


def message(
    admin_metadata: Mapping[str, str], request_id: str | None, text: str
) -> str:
    """Return Cinder's message about a request, with a stored reason.

    :param text: Cinder's own text, which a mere notice replaces
    """
    reason = stored(admin_metadata)
    if not reason or not reason.request or reason.request != request_id:
        return text
    if reason.operation == PROPERTY:
        return reason.text
    return f'{text} {reason.operation} refused: {reason.text}'.lstrip()
