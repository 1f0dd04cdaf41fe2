# SPDX-License-Identifier: Apache-2.0

"""The possible gain of striping, computed from the number of OSDs.

Requests in flight that go to one object wait for one OSD. Striping spreads
sequential requests over several objects, and so over several OSDs. Random
requests go to many objects even without striping.
"""

from rbd_bench import workload
from rbd_volume_options import layout

#: The default layout, without striping.
PLAIN = layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE)


def osds_at_work(objects: float, osds: int) -> float:
    """Return the expected number of OSDs that store some objects.

    Objects are on OSDs at random, as CRUSH places them.
    """
    if osds < 1:
        return 0.0
    return float(osds * (1 - (1 - 1 / osds) ** objects))


def objects_at_work(
    image: layout.ImageLayout, work: workload.Workload, size: int
) -> float:
    """Return the number of objects that the requests in flight access.

    :param size: bytes of the image
    """
    unit, block = image.stripe_unit, work.block_size
    if work.is_sequential:
        window = work.queue_depth * block
        units = 1 + max(0, window - block) / unit
        if image.striping is None:
            return units
        # After a full stripe, the next bytes are in the first object again.
        rounds = max(1.0, window / (image.object_size * image.stripe_count))
        return min(units, image.stripe_count * rounds)
    objects = max(1, image.object_count(size))
    requests = work.in_flight * max(1.0, block / unit)
    return float(objects * (1 - (1 - 1 / objects) ** requests))


def busy_osds(
    image: layout.ImageLayout,
    work: workload.Workload,
    size: int,
    osds: int,
) -> float:
    """Return the expected number of OSDs that requests in flight access."""
    return osds_at_work(objects_at_work(image, work, size), osds)


def gain(
    image: layout.ImageLayout,
    work: workload.Workload,
    size: int,
    osds: int,
) -> float:
    """Return the maximum gain of a layout with a number of OSDs.

    This is the number of busy OSDs, relative to an image that is not striped.
    The costs of a layout, such as more requests, are not part of it.
    """
    before = busy_osds(PLAIN, work, size, osds)
    return busy_osds(image, work, size, osds) / before if before else 1.0
