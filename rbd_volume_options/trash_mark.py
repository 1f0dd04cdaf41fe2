# SPDX-License-Identifier: Apache-2.0

"""The mark of an RBD image that the driver has moved to the trash of its pool.

It proves that the driver removed the image: the trash of a pool also has
images that an operator or another program moved there. It is image metadata,
written before the move. Clones and copies inherit image metadata, and Ceph can
copy whole pools, so the mark names the pool and the image for which it was
written. An image that was restored keeps it, so that a later move, by somebody
else, is no move of the driver: the times would differ.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import json
import struct
from typing import Any

from rbd_volume_options import ownership

#: Name of the image metadata.
KEY = 'rbd_volume_options_trash'
#: Name of the image metadata with the reason why the image was not removed
#: yet.
BLOCKED_KEY = 'rbd_volume_options_trash_blocked'

#: The image of a volume that was deleted.
DELETED = 'deleted'
#: The former image of a volume, which a copy has replaced.
KEPT = 'kept'
#: A copy that did not replace an image.
COPY = 'copy'
#: What a removal that was interrupted at its end has left: an entry without an
#: image, and so without a mark.
REMAINDER = 'remainder'

# Reasons.
CLIENTS = 'clients'
CLONES = 'clones'
FAILURE = 'failure'
GROUP = 'group'
SNAPSHOTS = 'snapshots'

#: Maximum number of seconds between the mark and the move, with the
#: difference of the clocks of two hosts.
LATEST = 900.0


@dataclasses.dataclass(frozen=True)
class Mark:
    """What the driver knows about an image that it moves to the trash.

    :ivar kind: :data:`DELETED`, :data:`KEPT`, :data:`COPY` or
        :data:`REMAINDER`
    :ivar project: ID of the project of the volume
    :ivar volume: ID of the volume
    :ivar size: provisioned size of the image, in bytes
    :ivar at: time of the mark, in seconds since 1970
    :ivar record: what is needed to restore a deleted volume; empty for an
        image that need not be restored
    """

    kind: str
    project: str
    volume: str
    size: int = 0
    at: float = 0.0
    record: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def text(self, pool_id: int, image_id: str) -> str:
        """Return the mark for an image."""
        place = {'pool': pool_id, 'image': image_id}
        return json.dumps(place | dataclasses.asdict(self))

    def is_of_move(self, moved: datetime.datetime) -> bool:
        """Return whether the mark was written for a move to the trash.

        :param moved: time of the move, in UTC
        """
        at = moved.replace(tzinfo=datetime.timezone.utc).timestamp()
        return abs(at - self.at) <= LATEST


def parse(
    metadata: Mapping[str, str], pool_id: int, image_id: str
) -> Mark | None:
    """Return the valid mark in the metadata of an image, or None."""
    try:
        items = json.loads(metadata.get(KEY, ''))
        place = items.pop('pool'), items.pop('image')
        mark = Mark(**items)
        is_valid = place == (pool_id, image_id) and isinstance(
            mark.size + mark.at, float | int
        )
        is_valid = is_valid and isinstance(mark.record, dict)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return mark if is_valid else None


def read(librados: Any, ioctx: Any, image_id: str) -> tuple[Mark | None, str]:
    """Return the mark of an image and what blocks its removal.

    The image is not opened. Without a header there is no mark.

    :param librados: the module ``rados``
    """
    metadata = ownership.metadata_of(
        librados, ioctx, image_id, (KEY, BLOCKED_KEY)
    )
    mark = parse(metadata, ioctx.get_pool_id(), image_id)
    return mark, metadata.get(BLOCKED_KEY, '') if mark else ''


def write(ioctx: Any, image_id: str, mark: Mark) -> None:
    """Write the mark of an image, in one step.

    :raises rados.ObjectNotFound: if the image does not exist
    """
    text = mark.text(ioctx.get_pool_id(), image_id)
    ownership.set_metadata(ioctx, image_id, {KEY: text, BLOCKED_KEY: ''})


def size_of(ioctx: Any, image_id: str) -> int:
    """Return the provisioned size of an image, in bytes.

    :raises rados.ObjectNotFound: if the image does not exist
    """
    _, answer = ioctx.execute(
        f'rbd_header.{image_id}', 'rbd', 'get_size', ownership.NO_SNAPSHOT
    )
    # The order comes first, in one byte.
    return int(struct.unpack('<Q', answer[1:9])[0])
