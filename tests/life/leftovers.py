# SPDX-License-Identifier: Apache-2.0

"""Checks that a sequence leaves nothing behind after its clean-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.life import cloud
from tests.life import quota

if TYPE_CHECKING:
    from tests.life import machine

_POOLS = ('images', 'volumes', 'volumes2', 'backups')


def check(world: machine.Machine, more: set[str]) -> None:
    """Check that nothing is left of a sequence's volumes.

    :param more: IDs that may not be in the tenants' rows, such as those of
        Glance images and the administrator's volumes
    """
    projects = {name: world.callers[name].project for name in 'ab'}
    wanted = set(more)
    for project in projects.values():
        wanted |= set(cloud.rows('volumes', project))
    # Glance moves an image with clones to the trash. Only the operator
    # removes it from there, with `rbd trash purge`.
    world.cluster.purge_trash('images')
    left = [
        f'{pool}/{name}'
        for pool in _POOLS
        for name in world.cluster.names(pool)
        if any(ident in name for ident in wanted)
    ]
    for tenant, project in projects.items():
        for table in ('volumes', 'snapshots', 'backups'):
            left += cloud.rows(table, project, 'not deleted')
        left += quota.reserved(world, tenant)
    cloud.require(not left, f'left behind: {left}')
