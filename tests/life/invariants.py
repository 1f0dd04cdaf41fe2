# SPDX-License-Identifier: Apache-2.0

"""Conditions that hold after each step in Cinder, its database and Ceph."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from rbd_volume_options import features
from tests.life import cloud
from tests.life import content
from tests.life import expectation
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import quota
from tests.life import state as states

if TYPE_CHECKING:
    from tests.life import machine

Record = cloud.Record
require = cloud.require

_ALIAS = 'os-rbd-volume-options'


def check(world: machine.Machine, read: Container[str]) -> None:
    """Check all volumes and the usage of the tenants.

    :param read: names of the volumes whose content is also checked
    :raises AssertionError: if a condition does not hold
    """
    records = {**_records(world, 'a'), **_records(world, 'b')}
    for vol in world.model.volumes.values():
        if vol.owner == 'admin' and (record := world.show(vol.ident)):
            records[vol.ident] = record
    known = {vol.ident: vol for vol in world.model.volumes.values()}
    gone = [known[ident].name for ident in known.keys() - records.keys()]
    require(not gone, f'vanished: {gone}')
    for ident in records.keys() - known.keys():
        # The source of a migration is deleted after the volume is available.
        deleting = records[ident]['status'] == 'deleting'
        require(deleting, f'left behind: volume {ident}: {records[ident]}')
        world.await_gone(f'/volumes/{ident}')
    for ident, vol in known.items():
        _check_volume(world, vol, records[ident])
        if vol.name in read and vol.status != 'error':
            _check_content(world, vol)
    for tenant in 'ab':
        quota.check(world, tenant)


def _records(world: machine.Machine, tenant: str) -> dict[str, Record]:
    """Return a tenant's volumes by ID, as an administrator sees them."""
    caller = world.callers[tenant]
    caller.check_hidden(caller.get('/volumes/detail'), 'GET /volumes/detail')
    path = f'/volumes/detail?all_tenants=1&project_id={caller.project}'
    volumes = world.admin.get(path).body['volumes']
    return {each['id']: each for each in volumes}


def _check_volume(
    world: machine.Machine, vol: model.Volume, record: Record
) -> None:
    name, status = vol.name, record['status']
    is_error = status.startswith('error') and vol.status != 'error'
    require(not is_error, f'{name} is {status}')
    size = record['size']
    require(size == vol.size, f'{name} has {size} GiB, not {vol.size}')
    kind = world.kind(record['volume_type'])
    require(kind == vol.kind, f'{name} has type {kind.name}')
    _check_keys(vol, record['metadata'])
    backend = vol.backend
    if backend is None or vol.status == 'error':
        return
    state = world.state(vol)
    if state is None:
        raise AssertionError(f'{name} has no image {vol.image}')
    if not backend.ours:
        # Volumes of other drivers show none of our attributes.
        for key in ('object_size', 'stripe_count', 'data_pool', 'features'):
            stale = record.get(f'{_ALIAS}:{key}')
            require(stale is None, f'{name} shows a stale {key}: {stale}')
    else:
        if not vol.unrecorded or record.get(f'{_ALIAS}:object_size'):
            _check_attributes(vol, record, state)
        _check_limits(vol, backend, state)
        # Attachments keep their initial cache mode.
        shown = record.get(f'{_ALIAS}:cache_modes') or {}
        for each in vol.attachments.values():
            same = shown.get(each.ident) == each.mode
            require(same or not each.judged, f'{name}: {shown}, {each}')
    bytes_ = vol.size * content.GIB
    require(state.size == bytes_, f'the image of {name} has {state.size}')


def _check_keys(vol: model.Volume, items: dict[str, str]) -> None:
    wrong = [key for key in items if metadata.is_misspelled(key)]
    require(not wrong, f'{vol.name} has misspelled keys: {wrong}')
    ours = metadata.ours(items)
    require(ours == vol.keys, f'keys of {vol.name}: {ours}, not {vol.keys}')
    halves = [key in ours for key in ('rbd:stripe_unit', 'rbd:stripe_count')]
    require(halves[0] == halves[1], f'{vol.name} has half a pair: {ours}')
    if vol.backend and vol.owner != 'admin' and not vol.managed:
        more = ours.keys() - set(vol.kind.tenant_options(vol.backend))
        require(not more, f'{vol.name} has keys that are not allowed: {more}')


def _check_attributes(
    vol: model.Volume, record: Record, state: states.State
) -> None:
    """Check that the attributes match the image."""
    actual = {
        'object_size': state.object_size,
        'stripe_unit': state.stripe_unit,
        'stripe_count': state.stripe_count,
        'data_pool': state.data_pool,
        'features': state.features & features.CHOOSABLE,
    }
    shown = {key: record.get(f'{_ALIAS}:{key}') for key in actual}
    names = frozenset(shown['features'] or ())
    shown['features'] = names & features.CHOOSABLE
    require(shown == actual, f'{vol.name} shows {shown}, but has {actual}')


def _check_limits(
    vol: model.Volume, backend: kinds.Backend, state: states.State
) -> None:
    """Check that the image matches its keys, type and back end."""
    name = f'{vol.name} ({vol.kind.name}, {vol.keys})'
    pool = vol.kind.data_pool(backend)
    same = state.data_pool == pool
    require(same or vol.managed, f'{name}: {state.data_pool}, not {pool}')
    require(not state.flags, f'{name}: flags {state.flags} of the object map')
    if vol.managed and not {**vol.kind.own, **vol.keys}:
        return
    layouts = expectation.layouts(vol, backend)
    allowed = state.layout in layouts
    require(allowed, f'{name} has {state.layout}, not one of {layouts}')
    sets = expectation.single_client(vol, backend)
    single = state.features & features.SINGLE_CLIENT
    require(single in sets, f'{name} has {single}, not one of {sets}')


def _check_content(world: machine.Machine, vol: model.Volume) -> None:
    if vol.filled is None or vol.backend is None:
        return
    digests = world.cluster.content(vol.backend.pool, vol.image)
    expected = content.digests(vol.filled)
    wrong = sorted(dict(digests.items() ^ expected.items()))
    require(not wrong, f'content of {vol.name} is wrong at {wrong[:8]}')
