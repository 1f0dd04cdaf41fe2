# SPDX-License-Identifier: Apache-2.0

"""Conditions that hold after each step in Cinder, its database and Ceph."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from rbd_volume_options import features
from tests.life import content
from tests.life import expectation
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import quota
from tests.life import state as states
from tests.life import world as worlds

World = worlds.World
Record = dict[str, Any]

_ALIAS = 'os-rbd-volume-options'
_TENANTS = ('a', 'b')


def check(world: World, read: Container[str]) -> None:
    """Check all volumes and the usage of the tenants.

    :param read: names of the volumes whose content is also checked
    :raises Violation: if a condition does not hold
    """
    records = {}
    for tenant in _TENANTS:
        records.update(_records(world, tenant))
    for each in world.model.volumes.values():
        if each.owner == 'admin':
            record = world.show(each.ident)
            records |= {each.ident: record} if record else {}
    known = {each.ident: each for each in world.model.volumes.values()}
    for ident in known.keys() - records.keys():
        world.violate('vanished', f'{known[ident].name} is gone')
    for ident in records.keys() - known.keys():
        # The source of a migration is deleted after the volume is available.
        going = records[ident]['status'] == 'deleting'
        if not going or not world.gone(f'/volumes/{ident}'):
            world.violate('left-behind', f'volume {ident}: {records[ident]}')
    for ident in known.keys() & records.keys():
        vol = known[ident]
        _check_volume(world, vol, records[ident])
        if vol.name in read and vol.status != 'error':
            _check_content(world, vol)
    for tenant in _TENANTS:
        quota.check(world, tenant)


def _records(world: World, tenant: str) -> dict[str, Record]:
    """Return a tenant's volumes by ID, as an administrator sees them."""
    caller = world.callers[tenant]
    caller.check_hidden(caller.get('/volumes/detail'), 'GET /volumes/detail')
    path = f'/volumes/detail?all_tenants=1&project_id={caller.project}'
    volumes = world.admin.get(path).body['volumes']
    return {each['id']: each for each in volumes}


def _check_volume(world: World, vol: model.Volume, record: Record) -> None:
    name = vol.name
    status = record['status']
    if status.startswith('error') and vol.status != 'error':
        world.violate('error-status', f'{name} is {status}')
    if record['size'] != vol.size:
        world.violate('size', f'{name}: {record["size"]}, not {vol.size}')
    if world.kind(record['volume_type']) != vol.kind:
        world.violate('type', f'{name} is a {record["volume_type"]}')
    _check_keys(world, vol, record['metadata'])
    backend = vol.backend
    if backend is None or vol.status == 'error':
        return
    state = world.state(vol)
    if state is None:
        world.violate('no-image', f'{name} has no image {vol.image}')
        return
    if backend.ours:
        if not vol.unrecorded or record.get(f'{_ALIAS}:object_size'):
            _check_attributes(world, vol, record, state)
        _check_limits(world, vol, backend, state)
        _check_modes(world, vol, record)
    else:
        _check_left(world, vol, record)
    if state.size != vol.size * content.GIB:
        world.violate('size', f'{name}: the image has {state.size} bytes')


def _check_keys(
    world: World, vol: model.Volume, items: dict[str, str]
) -> None:
    name = vol.name
    for key in items:
        if metadata.is_misspelled(key):
            world.violate('misspelled', f'{name} has {key!r}')
    ours = metadata.ours(items)
    if ours != vol.keys:
        world.violate('keys-changed', f'{name}: {ours}, not {vol.keys}')
    if ('rbd:stripe_unit' in ours) != ('rbd:stripe_count' in ours):
        world.violate('half-a-pair', f'{name}: {ours}')
    if vol.backend and vol.owner != 'admin' and not vol.managed:
        allowed = set(vol.kind.tenant_options(vol.backend))
        if more := ours.keys() - allowed:
            world.violate('key-not-allowed', f'{name}: {sorted(more)}')


def _check_attributes(
    world: World, vol: model.Volume, record: Record, state: states.State
) -> None:
    """Check that the attributes match the image."""
    shown = {
        name: record.get(f'{_ALIAS}:{name}')
        for name in ('object_size', 'stripe_unit', 'stripe_count', 'data_pool')
    }
    if shown['object_size'] is None:
        world.violate('no-record', f'{vol.name}: {shown}')
        return
    actual = {
        'object_size': state.object_size,
        'stripe_unit': state.stripe_unit,
        'stripe_count': state.stripe_count,
        'data_pool': state.data_pool,
    }
    if shown != actual:
        world.violate('attributes', f'{vol.name}: {shown}, but {actual}')
    names = set(record.get(f'{_ALIAS}:features') or ()) & features.CHOOSABLE
    if names != state.features & features.CHOOSABLE:
        world.violate(
            'attributes',
            f'{vol.name}: {sorted(names)}, but {sorted(state.features)}',
        )


def _check_left(world: World, vol: model.Volume, record: Record) -> None:
    """Check that volumes of other drivers show none of our attributes."""
    for name in ('object_size', 'stripe_count', 'data_pool', 'features'):
        if record.get(f'{_ALIAS}:{name}') is not None:
            world.violate('stale', f'{vol.name} shows {name}')


def _check_modes(world: World, vol: model.Volume, record: Record) -> None:
    """Check that attachments keep their initial cache mode."""
    shown = record.get(f'{_ALIAS}:cache_modes') or {}
    for name, each in vol.attachments.items():
        if each.judged and shown.get(each.ident) != each.mode:
            world.violate(
                'cache-mode', f'{name} of {vol.name}: {shown}, {each}'
            )


def _check_limits(
    world: World,
    vol: model.Volume,
    backend: kinds.Backend,
    state: states.State,
) -> None:
    """Check that the image matches its keys, type and back end."""
    name = f'{vol.name} ({vol.kind.name}, {vol.keys})'
    pool = expectation.data_pool(vol, backend)
    if state.data_pool != pool and not vol.managed:
        world.violate('data-pool', f'{name}: {state.data_pool}, not {pool}')
    if state.flags:
        world.violate('object-map-invalid', f'{name}: flags {state.flags}')
    if vol.managed and not {**vol.kind.own, **vol.keys}:
        return
    layouts = expectation.layouts(vol, backend)
    if state.layout not in layouts:
        world.violate('layout', f'{name}: {state.layout}, not {layouts}')
    sets = expectation.single_client(vol, backend)
    single = state.features & features.SINGLE_CLIENT
    if single not in sets:
        wanted = [sorted(each) for each in sets]
        world.violate('features', f'{name}: {sorted(single)}, not {wanted}')


def _check_content(world: World, vol: model.Volume) -> None:
    if vol.filled is None or vol.backend is None:
        return
    digests = world.cluster.content(vol.backend.pool, vol.image)
    expected = content.digests(vol.filled)
    if digests != expected:
        wrong = sorted(
            at
            for at in digests.keys() | expected.keys()
            if digests.get(at) != expected.get(at)
        )
        world.violate('content', f'{vol.name}: wrong at {wrong[:8]}')
