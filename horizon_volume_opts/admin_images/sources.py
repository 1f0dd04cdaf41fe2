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

"""The sources of the panel's numbers.

Viewing a page must not cause load on Ceph, so this module does not open
images. The attributes of the volumes describe the images, and one request to
Cinder returns them for a thousand volumes. Only an open image shows whether
its map is valid, so an operator's audit would have to collect this in advance.
A source that reads such a report is another subclass of :class:`Source`.
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

#: The maximum number of volumes in a response, unless osapi_max_limit is set.
_PAGE = 1000
_PROTOCOL = 'ceph'
# In these states, the image may not exist or may not be recorded yet.
_UNMADE = frozenset({'creating', 'error', 'managing', 'error_managing'})


class Source(abc.ABC):
    """A source of information about all images.

    A subclass for an audit report reads the report and returns a complete
    census with the time of the audit as ``taken``.
    """

    #: Part of the cache key, unique for each source.
    slug: ClassVar[str]
    #: Whether it distinguishes valid and invalid maps. If not, the panel
    #: states that instead of a number.
    knows_invalid: ClassVar[bool]
    #: A sentence for the page.
    description: ClassVar[Any]

    @abc.abstractmethod
    def read(
        self, request: Any, found: census.Census | None = None
    ) -> census.Census:
        """Count images for as long as a page may take.

        :param found: the census of an earlier call, to continue
        :returns: a census; if it is not complete, another call continues it
        """


class AttributesSource(Source):
    """The volume attributes of our extension of Cinder's API."""

    slug = 'attributes'
    knows_invalid = False
    description = _('The numbers are from the records of Cinder.')

    #: Seconds after which a call returns an incomplete census.
    budget: ClassVar[float] = 10

    def read(
        self, request: Any, found: census.Census | None = None
    ) -> census.Census:
        """Read pages of volumes until the time budget is used up."""
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
    """Yield pages of volumes of all projects; the last page is not full."""
    while True:
        page = client.volumes.list(
            search_opts={'all_tenants': 1}, marker=marker, limit=_PAGE
        )
        yield page
        if len(page) < _PAGE:
            return
        marker = page[-1].id


def _rbd_pools(client: Any) -> frozenset[str]:
    """Return Cinder's pools that are on Ceph, with any driver."""
    return frozenset(
        pool.name
        for pool in client.pools.list(detailed=True)
        if getattr(pool, 'storage_protocol', None) == _PROTOCOL
    )


def _image(volume: Any, pools: frozenset[str]) -> census.Image | None:
    """Return the RBD image of a volume; None if it has none."""
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
