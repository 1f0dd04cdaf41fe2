# SPDX-License-Identifier: Apache-2.0

"""The list of all RBD images, from the records of Cinder.

Viewing a page must not cause load on Ceph, so this module does not open
images. The attributes of the volumes describe the images, and one request to
Cinder returns them for a thousand volumes. The report of an audit provides
what only Ceph knows. A large cloud is read in steps, and the list is cached.
"""

from collections import Counter
from collections.abc import Sequence
import dataclasses
import json
import time
from typing import Any
from typing import NamedTuple
import zlib

from cinderclient import exceptions as cinder_exceptions
from django.core import cache
from django.utils import timezone
from openstack_dashboard.api import cinder

from horizon_volume_opts import volume_attributes
from horizon_volume_opts.admin_images import audit

#: Seconds after which reading stops with an incomplete list.
BUDGET: float = 10
#: Seconds for which a list is cached.
CACHED = 300
#: Maximum number of findings that are kept.
_MOST_FINDINGS = 100
#: The maximum number of volumes in a response, unless osapi_max_limit is set.
_PAGE = 1000
# Volumes of a page to continue after. If all were deleted, reading continues
# after the previous page.
_MARKERS = 20
#: Bytes of a cached value; memcached limits it to 1 MiB.
_PART = 1 << 19
# Only administrators get it.
_NAME_ID = 'os-vol-mig-status-attr:name_id'
_PROTOCOL = 'ceph'
# In these states, the image may not exist or may not be recorded yet.
_UNMADE = frozenset({'creating', 'error', 'managing', 'error_managing'})


class Image(NamedTuple):
    """The RBD image of a volume.

    :ivar ident: ID of the volume
    :ivar size: of the volume in GiB
    :ivar pool: Cinder's pool, ``host@backend#pool``
    :ivar layout: object size and stripe unit in bytes, and stripe count;
        empty if it is unknown
    :ivar data_pool: Ceph pool of the data if it is a separate pool, or empty
    """

    ident: str
    name: str
    size: int
    volume_type: str
    pool: str
    map_state: str
    layout: Sequence[int] = ()
    data_pool: str = ''


@dataclasses.dataclass
class Listing:
    """The images that were read so far.

    :ivar taken: time when reading started, in ISO 8601 with a time zone
    :ivar complete: whether all volumes were read
    :ivar markers: IDs of volumes to continue after, the last one is tried
        first; the others are used if it was deleted
    :ivar rows: the image of each volume by ID; None for a volume that is not
        an RBD image or is not created yet
    :ivar audited: time of the audit; empty if there is none
    :ivar findings: the first findings of the audit
    :ivar kinds: number of findings of each kind
    """

    taken: str = dataclasses.field(
        default_factory=lambda: timezone.now().isoformat()
    )
    complete: bool = False
    markers: list[str] = dataclasses.field(default_factory=list)
    rows: dict[str, Image | None] = dataclasses.field(default_factory=dict)
    audited: str = ''
    is_audit_unreadable: bool = False
    findings: Sequence[audit.Finding] = ()
    kinds: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def images(self) -> list[Image]:
        """The RBD images."""
        return [each for each in self.rows.values() if each]

    @property
    def others(self) -> int:
        """Number of volumes that are not RBD images or not created yet."""
        return sum(each is None for each in self.rows.values())

    def read(self, request: Any) -> None:
        """Read pages of volumes until the time budget is used up.

        If a page cannot be read, the pages before it remain in the list.
        Another call continues a list that is not complete afterwards.
        """
        client = cinder.cinderclient(request)
        pools = frozenset(
            pool.name
            for pool in client.pools.list(detailed=True)
            if getattr(pool, 'storage_protocol', None) == _PROTOCOL
        )
        report = audit.read()
        self.audited = report.taken
        self.is_audit_unreadable = report.is_unreadable
        self.findings = report.findings[:_MOST_FINDINGS]
        self.kinds = dict(Counter(each['kind'] for each in report.findings))
        deadline = time.monotonic() + BUDGET
        while not self.complete:
            page = _page(client, self.markers)
            self.rows.update((v.id, _image(v, pools, report)) for v in page)
            self.markers += [volume.id for volume in page[-_MARKERS:]]
            self.complete = len(page) < _PAGE
            if time.monotonic() > deadline:
                break


def store(key: str, listed: Listing) -> None:
    """Put a list into the cache."""
    packed = zlib.compress(json.dumps(vars(listed)).encode())
    parts = {
        f'{key}:{start}': packed[start : start + _PART]
        for start in range(0, len(packed), _PART)
    }
    cache.cache.set_many({key: list(parts), **parts}, CACHED)


def load(key: str) -> Listing | None:
    """Return the list from the cache; None if a part is missing."""
    names = cache.cache.get(key) or []
    parts = cache.cache.get_many(names)
    if not names or len(parts) < len(names):
        return None
    try:
        packed = b''.join(parts[name] for name in names)
        values = json.loads(zlib.decompress(packed))
    except zlib.error:
        # Two processes have stored it at the same time.
        return None
    listed = Listing(**values)
    for ident, row in listed.rows.items():
        listed.rows[ident] = row and Image(*row)
    return listed


def _page(client: Any, markers: list[str]) -> list[Any]:
    """Return the next page of volumes of all projects.

    :param markers: volumes to continue after; deleted volumes are removed
    """
    while True:
        try:
            volumes: list[Any] = client.volumes.list(
                search_opts={'all_tenants': 1},
                marker=markers[-1] if markers else None,
                limit=_PAGE,
            )
        except cinder_exceptions.NotFound:
            if not markers:
                raise
            # The volume was deleted in the meantime. The others keep their
            # order.
            markers.pop()
        else:
            return volumes


def _image(
    volume: Any, pools: frozenset[str], report: audit.Report
) -> Image | None:
    """Return the RBD image of a volume; None if it has none.

    :param pools: Cinder's pools on Ceph, with any driver
    """
    pool = getattr(volume, 'os-vol-host-attr:host', None) or ''
    made = volume_attributes.of_volume(volume).state
    if made is None:
        if pool not in pools or volume.status in _UNMADE:
            return None
        state = audit.MapState.UNKNOWN
    elif volume_attributes.has_object_map(made):
        state = audit.MapState.UNCHECKED
    else:
        state = audit.MapState.NONE
    # The image of a migrated volume has another ID in its name.
    image_id = getattr(volume, _NAME_ID, None) or volume.id
    image = Image(
        volume.id,
        getattr(volume, 'name', None) or volume.id,
        getattr(volume, 'size', 0),
        volume.volume_type or '',
        pool,
        report.map_state(image_id, state).value,
    )
    if made is None:
        return image
    own = made.layout
    numbers = own.object_size, own.stripe_unit, own.stripe_count
    return image._replace(layout=numbers, data_pool=made.data_pool or '')
