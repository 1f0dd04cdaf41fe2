# SPDX-License-Identifier: Apache-2.0

"""Reads the images from the records of Cinder.

Viewing a page must not cause load on Ceph, so this module does not open
images. The attributes of the volumes describe the images, and one request to
Cinder returns them for a thousand volumes. The report of an audit provides
what only Ceph knows.
"""

from collections.abc import Collection
import logging
import time
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.utils import timezone
from openstack_dashboard import api

from horizon_volume_opts import volume_attributes
from horizon_volume_opts.admin_images import audit
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing

LOG = logging.getLogger(__name__)

#: Seconds after which a call returns an incomplete listing.
BUDGET: float = 10
#: The maximum number of volumes in a response, unless osapi_max_limit is set.
_PAGE = 1000
# Volumes of a page to continue after. If all were deleted, reading continues
# after the previous page.
_MARKERS = 20
# Only administrators get it.
_NAME_ID = 'os-vol-mig-status-attr:name_id'
_PROTOCOL = 'ceph'
# In these states, the image may not exist or may not be recorded yet.
_UNMADE = frozenset({'creating', 'error', 'managing', 'error_managing'})


def begin(request: Any) -> listing.Listing:
    """Return an empty listing with the names of projects."""
    return listing.Listing(
        timezone.now().isoformat(), projects=_projects(request)
    )


def read(request: Any, listed: listing.Listing) -> None:
    """Read pages of volumes until the time budget is used up.

    If a page cannot be read, the pages before it remain in the listing.

    :param listed: the listing to continue; another call continues it if it is
        not complete afterwards
    """
    client = api.cinder.cinderclient(request)
    pools = _rbd_pools(client)
    report = audit.read()
    listed.audited = report.taken
    listed.is_audit_unreadable = report.is_unreadable
    deadline = time.monotonic() + BUDGET
    while not listed.complete:
        page = _page(client, listed.markers)
        listed.add(
            (volume.id, image and report.checked(image, _image_id(volume)))
            for volume in page
            for image in [_image(volume, pools)]
        )
        renamed = [each for each in page if _image_id(each) != each.id]
        listed.image_ids += map(_image_id, renamed)
        listed.markers += [volume.id for volume in page[-_MARKERS:]]
        listed.complete = len(page) < _PAGE
        if time.monotonic() > deadline:
            break
    listed.other_findings = report.others(_listed(listed, report))


def _listed(listed: listing.Listing, report: audit.Report) -> Collection[str]:
    """Return the IDs whose findings are in the rows of the list."""
    if not listed.complete:
        # The others may still come.
        return report.findings.keys() - {''}
    idents = (ident for ident, image in listed.rows.items() if image)
    return {*idents, *listed.image_ids}


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


def _projects(request: Any) -> dict[str, str]:
    """Return the names of projects by ID; empty if Keystone refuses."""
    try:
        projects, _more = api.keystone.tenant_list(request)
    except Exception as error:
        LOG.warning('Could not get the names of projects: %s', error)
        return {}
    return {each.id: each.name for each in projects}


def _rbd_pools(client: Any) -> frozenset[str]:
    """Return Cinder's pools on Ceph, with any driver."""
    return frozenset(
        pool.name
        for pool in client.pools.list(detailed=True)
        if getattr(pool, 'storage_protocol', None) == _PROTOCOL
    )


def _image_id(volume: Any) -> str:
    """Return the ID in the name of an image, another one if migrated."""
    ident: str = getattr(volume, _NAME_ID, None) or volume.id
    return ident


def _image(volume: Any, pools: frozenset[str]) -> images.Image | None:
    """Return the RBD image of a volume; None if it has none."""
    pool = getattr(volume, 'os-vol-host-attr:host', None) or ''
    common = {
        'pool': pool,
        'volume_type': volume.volume_type or '',
        'ident': volume.id,
        'name': getattr(volume, 'name', None) or '',
        'project': getattr(volume, 'os-vol-tenant-attr:tenant_id', None) or '',
        'size': getattr(volume, 'size', 0),
    }
    recorded = volume_attributes.of_volume(volume).state
    if recorded is None:
        if pool not in pools or volume.status in _UNMADE:
            return None
        return images.Image(map_state=images.MapState.UNKNOWN, **common)
    return images.Image(
        map_state=(
            images.MapState.UNCHECKED
            if volume_attributes.has_object_map(recorded)
            else images.MapState.NONE
        ),
        image_layout=recorded.layout,
        data_pool=recorded.data_pool or '',
        **common,
    )
