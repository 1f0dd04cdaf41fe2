# SPDX-License-Identifier: Apache-2.0

"""Removal of images whose object map is invalid.

With a valid map, librbd removes the objects that exist. With an invalid one it
tries to remove each object that might exist. To rebuild the map it looks at
each, which takes about half as long as to remove one that does not exist.
"""

from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import protocols

LOG = logging.getLogger(__name__)

#: Below this number of objects, a removal takes less than a second.
FEWEST = 1024

# Number of places in an image where its use is checked.
_SAMPLES = 32

_MAP_INVALID = 1


def rebuild(image: protocols.Image) -> bool:
    """Rebuild the object map of an image if its removal is then faster.

    That is the case if less than half of its objects exist.

    :param image: an open image without snapshots
    """
    if not image.flags() & _MAP_INVALID:
        return False
    stat = image.stat()
    if stat['num_objs'] < FEWEST:
        return False
    used = _used_samples(image, stat)
    if used >= _SAMPLES // 2:
        return False
    LOG.info(
        'The object map of the deleted image %(name)s is invalid. It is '
        'rebuilt, because %(used)s of %(all)s samples have data.',
        {'name': image.get_name(), 'used': used, 'all': _SAMPLES},
    )
    image.rebuild_object_map()
    return True


def _used_samples(image: protocols.Image, stat: dict[str, Any]) -> int:
    """Return in how many samples of an image there are objects."""
    used = 0
    for index in range(_SAMPLES):
        offsets: list[int] = []
        image.diff_iterate(
            index * stat['size'] // _SAMPLES,
            stat['obj_size'],
            None,
            lambda offset, *_, offsets=offsets: offsets.append(offset),
            include_parent=False,
        )
        used += bool(offsets)
    return used
