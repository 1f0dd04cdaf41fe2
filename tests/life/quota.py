# SPDX-License-Identifier: Apache-2.0

"""The quota usage and reservations of the tenants in Cinder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.life import cloud
from tests.life import kinds

if TYPE_CHECKING:
    from tests.life import machine

#: Seconds within which Cinder must commit or roll back reservations.
_PATIENCE = 15


def check(world: machine.Machine, tenant: str) -> None:
    """Check that a tenant's quota usage matches its resources.

    Cinder sets a volume's status before it commits or rolls back the
    reservations, so only a permanent difference counts.
    """
    deadline = time.monotonic() + _PATIENCE
    while wrong := _difference(world, tenant):
        in_time = time.monotonic() < deadline
        cloud.require(in_time, f'quota: {tenant} has {wrong}')
        time.sleep(0.5)


def _difference(world: machine.Machine, tenant: str) -> str:
    caller = world.callers[tenant]
    expected = _used(world, tenant)
    answer = world.admin.get(f'/os-quota-sets/{caller.project}?usage=True')
    usage = answer.body['quota_set']
    for name, number in expected.items():
        shown = usage.get(name, {'in_use': 0, 'reserved': 0})
        # Cinder's sum of reservations is not reliable: if a request adds the
        # row of another resource, `quota_reserve` commits, continues with the
        # sum that it read before, and overwrites changes that other requests
        # made in between.
        condition = f"resource = '{name}'"
        open_now = shown['reserved'] and reserved(world, tenant, condition)
        if open_now or shown['in_use'] != number:
            return f'{number} {name}: {shown}, reservations: {open_now}'
    return ''


def _used(world: machine.Machine, tenant: str) -> dict[str, int]:
    """Return a tenant's resource usage by quota name."""
    known = world.model
    mine = [v for v in known.volumes.values() if v.owner == tenant]
    snapshots = [s for s in known.snapshots.values() if s.owner == tenant]
    backups = [b for b in known.backups.values() if b.owner == tenant]
    used = {
        'volumes': len(mine),
        'snapshots': len(snapshots),
        'gigabytes': sum(v.size for v in mine)
        + sum(s.size for s in snapshots),
        'backups': len(backups),
        'backup_gigabytes': sum(b.size for b in backups),
    }
    for kind in kinds.by_name().values():
        of = [v for v in mine if v.kind == kind]
        used[f'volumes_{world.type_name(kind)}'] = len(of)
    return used


def reserved(
    world: machine.Machine, tenant: str, condition: str = 'true'
) -> list[str]:
    """Return the IDs of a tenant's open reservations.

    Negative reservations are left out, because Cinder's scheduler keeps them
    if it finds no host for a retype. So are those of :func:`expect_lost`.
    """
    rows = cloud.rows(
        'reservations',
        world.callers[tenant].project,
        f'deleted = 0 and delta > 0 and {condition}',
    )
    return [row for row in rows if row not in world.lost_reservations]


def expect_lost(world: machine.Machine, owner: str, kind: kinds.Kind) -> None:
    """Expect an open reservation after an operator's failed retype.

    Cinder reserves quota in the volume's project but rolls back in the project
    of the request. This fails, and the reservation expires the next day.
    """
    of = ('volumes', 'gigabytes', 'snapshots')
    names = ', '.join(f"'{each}_{world.type_name(kind)}'" for each in of)
    condition = f'resource in ({names})'
    world.lost_reservations |= set(reserved(world, owner, condition))
