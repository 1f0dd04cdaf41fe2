# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Where the panel's numbers come from.

Whoever looks at a page must not make Ceph work: nothing here opens an image.
The volumes' attributes tell what was made, in one request of Cinder's for a
thousand volumes. What only an open image tells, whether its map is valid, an
operators' audit would have to find out beforehand; a source that reads such a
report is another subclass of :class:`Source`.
"""

import abc
from collections.abc import Iterator
import time
from typing import Any
from typing import ClassVar

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from openstack_dashboard import api

from horizon_volume_opts.admin_images import census
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import wire

#: Cinder gives no more at once unless osapi_max_limit says so.
_PAGE = 1000
_PROTOCOL = 'ceph'
# There may be no image, or one that nobody has looked at yet.
_UNMADE = frozenset({'creating', 'error', 'managing', 'error_managing'})


class Source(abc.ABC):
    """One way to know about all images.

    A subclass for a report: ``read`` fetches it from where the audit left
    it and returns a complete census whose ``taken`` is the time of the audit.
    """

    #: Part of the cache's key: another one for each source.
    slug: ClassVar[str]
    #: Whether it can tell a valid map from an invalid one. Where it can't,
    #: the panel says so in place of a number.
    knows_invalid: ClassVar[bool]
    #: A sentence for the page.
    description: ClassVar[Any]

    @abc.abstractmethod
    def read(
        self, request: Any, found: census.Census | None = None
    ) -> census.Census:
        """Count, for as long as a page may take.

        :param found: what an earlier call returned, to go on from
        :returns: a census; while it isn't complete, there is more to read
        """


class AttributesSource(Source):
    """The attributes that our extension of Cinder's API gives volumes."""

    slug = 'attributes'
    knows_invalid = False
    description = _('From what Cinder recorded when it made the volumes.')

    #: Seconds after which a call returns with what it has.
    budget: ClassVar[float] = 10

    def read(
        self, request: Any, found: census.Census | None = None
    ) -> census.Census:
        """Read pages of volumes until the budget is spent."""
        client = api.cinder.cinderclient(request)
        pools = _rbd_pools(client)
        if found is None:
            found = census.Census(timezone.now().isoformat())
        deadline = time.monotonic() + self.budget
        for page in _pages(client, found.marker):
            images = [
                image for volume in page if (image := _image(volume, pools))
            ]
            found.add(images)
            found.others += len(page) - len(images)
            found.complete = len(page) < _PAGE
            found.marker = None if found.complete else page[-1].id
            if time.monotonic() > deadline:
                break
        return found


def _pages(client: Any, marker: str | None) -> Iterator[list[Any]]:
    """Yield pages of all projects' volumes; the last one isn't full."""
    while True:
        page = client.volumes.list(
            search_opts={'all_tenants': 1}, marker=marker, limit=_PAGE
        )
        yield page
        if len(page) < _PAGE:
            return
        marker = page[-1].id


def _rbd_pools(client: Any) -> frozenset[str]:
    """Return Cinder's pools that are Ceph's, whichever driver they have."""
    return frozenset(
        pool.name
        for pool in client.pools.list(detailed=True)
        if getattr(pool, 'storage_protocol', None) == _PROTOCOL
    )


def _image(volume: Any, pools: frozenset[str]) -> census.Image | None:
    """Return a volume's image; None for a volume that has none of RBD's."""
    pool = getattr(volume, 'os-vol-host-attr:host', None) or ''
    volume_type = volume.volume_type or ''
    recorded = getattr(volume, wire.ATTRIBUTE_FEATURES, None)
    if recorded is None:
        if pool not in pools or volume.status in _UNMADE:
            return None
        return census.Image(pool, volume_type, census.MapState.UNKNOWN)
    return census.Image(
        pool,
        volume_type,
        census.MapState.VALID
        if features.OBJECT_MAP in recorded
        else census.MapState.NONE,
        layout.ImageLayout.of(
            getattr(volume, wire.ATTRIBUTE_OBJECT_SIZE),
            getattr(volume, wire.ATTRIBUTE_STRIPE_UNIT),
            getattr(volume, wire.ATTRIBUTE_STRIPE_COUNT),
        ),
        getattr(volume, wire.ATTRIBUTE_DATA_POOL, None) or '',
    )
