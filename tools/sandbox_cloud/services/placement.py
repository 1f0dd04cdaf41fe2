# SPDX-License-Identifier: Apache-2.0

"""Placement: the resources of compute hosts."""

from __future__ import annotations

from typing import ClassVar

from sandbox_cloud.contract import CatalogEntry
from sandbox_cloud.contract import OpenStackService


class Placement(OpenStackService):
    """The placement service."""

    name: ClassVar[str] = 'placement'
    ports: ClassVar[tuple[int, ...]] = (8778,)
    health: ClassVar[str | None] = '/'
    requires: ClassVar[tuple[str, ...]] = ('memcached',)
    distributions: ClassVar[tuple[str, ...]] = ('openstack-placement',)
    databases: ClassVar[tuple[str, ...]] = ('placement',)
    wsgi: ClassVar[str] = 'placement.wsgi.api'
    schema: ClassVar[tuple[str, ...]] = ('placement-manage', 'db', 'sync')
    catalog: ClassVar[tuple[CatalogEntry, ...]] = (
        CatalogEntry('placement', 'placement', 'http://127.0.0.1:8778'),
    )
