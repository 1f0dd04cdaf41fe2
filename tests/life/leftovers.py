# SPDX-License-Identifier: Apache-2.0

"""Checks that a sequence leaves nothing behind after its clean-up."""

from __future__ import annotations

from tests.life import ceph_process
from tests.life import cloud
from tests.life import quota
from tests.life import world as worlds

World = worlds.World

_TENANTS = ('a', 'b')
_VOLUMES = ('volumes', 'volumes2', 'backups')


def idents(world: World) -> list[str]:
    """Return the IDs of all volumes of the tenants, including deleted ones."""
    return [
        ident
        for tenant in _TENANTS
        for ident in cloud.rows('volumes', world.callers[tenant].project)
    ]


def check(world: World, more: list[str]) -> None:
    """Check that nothing is left of a sequence's volumes.

    :param more: IDs that are not in the tenants' rows, such as those of Glance
        images and the administrator's volumes
    """
    wanted = {*idents(world), *more}
    # Glance moves an image with clones to the trash. Only the operator
    # removes it from there, with `rbd trash purge`.
    world.cluster.purge_trash('images')
    for pool in ('images', *_VOLUMES):
        left = [
            name
            for name in world.cluster.names(pool)
            if any(ident in name for ident in wanted)
        ]
        if left:
            world.violate('left-in-ceph', f'{pool}: {left}')
    for tenant in _TENANTS:
        _check_rows(world, tenant)


def _check_rows(world: World, tenant: str) -> None:
    project = world.callers[tenant].project
    for table in ('volumes', 'snapshots', 'backups'):
        if rows := cloud.rows(table, project, 'not deleted'):
            world.violate('left-in-database', f'{table}: {rows}')
    if rows := quota.reserved(world, tenant):
        world.violate('left-in-database', f'reservations: {rows}')


def check_cluster(
    cluster: ceph_process.Cluster, before: set[str]
) -> list[str]:
    """Return what was added to the pools."""
    return sorted(cluster.everything() - before)
