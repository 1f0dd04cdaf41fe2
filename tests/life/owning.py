# SPDX-License-Identifier: Apache-2.0

"""Rules for transferring, managing and unmanaging volumes."""

from __future__ import annotations

import random
from typing import Any

from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import purge
from tests.life import rule
from tests.life import state as states
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World

#: Manually created images, one with an unusual striping.
_BY_HAND: tuple[dict[str, int], ...] = (
    {},
    {'order': 21, 'stripe_unit': 2**16, 'stripe_count': 4},
    {'order': 20, 'stripe_unit': 2**20, 'stripe_count': 3},
)


def _draw_offer(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in there.idle() if v.owner in 'ab']
    return {'volume': rng.choice(volumes).name} if volumes else None


def _offer(world: World, new: str, volume: str) -> None:
    there = rule.volume_of(world, volume)
    answer = world.callers[there.owner].send(
        'POST',
        '/volume-transfers',
        {'transfer': {'volume_id': there.ident, 'name': new}},
    )
    if not world.judge(answer, Verdict.EITHER, f'offer {volume}'):
        return
    found = answer.body['transfer']
    world.model.transfers[new] = model.Transfer(
        new, found['id'], volume, found['auth_key']
    )
    world.settle(there)


def _draw_accept(there: model.Model, rng: random.Random) -> rule.Args | None:
    if not there.transfers:
        return None
    transfer = rng.choice(list(there.transfers))
    right = rng.random() < 0.8
    how = rng.choice(('accept', 'accept', 'cancel'))
    return {'transfer': transfer, 'how': how, 'right': right}


def accept(world: World, transfer: str, how: str, right: bool) -> None:
    """Accept a transfer as the other tenant, or cancel it as its owner."""
    found = world.model.transfers.get(transfer)
    if found is None:
        raise rule.Missing(transfer)
    there = rule.volume_of(world, found.volume)
    path = f'/volume-transfers/{found.ident}'
    if how == 'cancel':
        answer = world.callers[there.owner].send('DELETE', path)
        world.judge(answer, Verdict.ACCEPTED, f'cancel {transfer}')
    else:
        other = 'b' if there.owner == 'a' else 'a'
        body = {'accept': {'auth_key': found.key if right else 'wrong'}}
        answer = world.callers[other].send('POST', f'{path}/accept', body)
        expected = Verdict.ACCEPTED if right else Verdict.REFUSED
        if not world.judge(answer, expected, f'accept {transfer}'):
            return
        there.owner = other
        for snapshot in world.model.snapshots_of(there.name):
            snapshot.owner = other
    del world.model.transfers[transfer]
    world.settle(there)


def _draw_unmanage(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in there.on_ceph()
        if not there.offered(v.name)
        and not v.kind.multiattach
        # Cinder does not know when an unmanaged clone is removed, and
        # keeps its source as `*.deleted`.
        and not v.bases
    ]
    return {'volume': rng.choice(volumes).name} if volumes else None


def _unmanage(world: World, new: str, volume: str) -> None:
    there = rule.volume_of(world, volume)
    if there.backend is None:
        raise rule.Missing(volume)
    answer = world.admin.send(
        'POST', f'/volumes/{there.ident}/action', {'os-unmanage': None}
    )
    expected = Verdict.ACCEPTED
    if world.model.snapshots_of(volume):
        expected = Verdict.REFUSED
    if not world.judge(answer, expected, f'unmanage {volume}'):
        return
    world.gone(f'/volumes/{there.ident}')
    del world.model.volumes[volume]
    world.model.strays[new] = model.Stray(
        new, there.backend, there.image, there.size, there.filled
    )


def _draw_make(there: model.Model, rng: random.Random) -> rule.Args | None:
    return {'layout': rng.choice(_BY_HAND), 'size': rng.choice((1, 3))}


def _make(world: World, new: str, layout: dict[str, int], size: int) -> None:
    backend = kinds.BACKENDS['rbd']
    image = f'{purge.PREFIX}{world.callers["a"].project}-{new}'
    world.cluster.make(backend.pool, image, size, **layout)
    world.tell(f'operator: image {new}: {layout}')
    world.model.strays[new] = model.Stray(new, backend, image, size, {})


def _draw_manage(there: model.Model, rng: random.Random) -> rule.Args | None:
    if not there.strays:
        return None
    stray = rng.choice(list(there.strays.values()))
    types = [
        k.name
        for k in kinds.public()
        if stray.backend.name in k.backends and not k.multiattach
    ]
    keys = metadata.drawn(rng) if rng.random() < 0.5 else {}
    return {'stray': stray.name, 'kind': rng.choice(types), 'keys': keys}


def _manage(
    world: World, new: str, stray: str, kind: str, keys: dict[str, str]
) -> None:
    found = world.model.strays.get(stray)
    if found is None:
        raise rule.Missing(stray)
    of = kinds.by_name()[kind]
    state = world.cluster.state(found.backend.pool, found.image)
    body: dict[str, Any] = {
        'host': found.backend.host,
        'ref': {'source-name': found.image},
        'name': new,
        'volume_type': world.type_name(of),
        'metadata': keys,
    }
    answer = world.admin.send('POST', '/manageable_volumes', {'volume': body})
    expected = _judge_managed(keys, of, found, state)
    if not world.judge(answer, expected, f'manage {stray} as {kind}, {keys}'):
        return
    ident = answer.body['volume']['id']
    if expected is Verdict.EITHER and _is_left(world, ident, found):
        return
    del world.model.strays[stray]
    there = model.Volume(
        new,
        answer.body['volume']['id'],
        'admin',
        of,
        found.size,
        metadata.ours(keys),
        found.filled,
        bases=[state] if state else [],
        managed=True,
        foreign=True,
    )
    world.model.volumes[new] = there
    world.settle(there)


def _is_left(world: World, ident: str, found: model.Stray) -> bool:
    """Return whether an image that contradicts its type is unchanged.

    Cinder's API cannot inspect the image, so the driver refuses it, as the
    stock driver does: the new volume is in ``error`` with a reason, and the
    image is unchanged. The administrator deletes the volume.
    """
    record = world.until(lambda: world.outcome(ident), f'{ident} to settle')
    if not record['status'].startswith('error'):
        return False
    if not record['os-rbd-volume-options:refused']:
        world.violate('no-reason', f'{ident} is {record["status"]}')
    if world.cluster.state(found.backend.pool, found.image) is None:
        world.violate('image-lost', f'{found.image} after a refused manage')
    world.admin.send('DELETE', f'/volumes/{ident}')
    world.gone(f'/volumes/{ident}')
    return True


def _judge_managed(
    keys: dict[str, str],
    kind: kinds.Kind,
    found: model.Stray,
    state: states.State | None,
) -> Verdict:
    if any(metadata.is_misspelled(key) for key in keys):
        return Verdict.REFUSED
    asked = {**kind.own, **metadata.ours(keys)}
    if asked or kind.data_pool(found.backend) != found.backend.data_pool:
        # Accepted only if the image matches; later checks verify this.
        return Verdict.EITHER
    return Verdict.ACCEPTED


RULES = (
    rule.Rule('offer', 1.5, _draw_offer, _offer, 'o'),
    rule.Rule('accept', 2, _draw_accept, accept),
    rule.Rule('unmanage', 0.8, _draw_unmanage, _unmanage, 'm'),
    rule.Rule('make by hand', 0.5, _draw_make, _make, 'm'),
    rule.Rule('manage', 2, _draw_manage, _manage, 'v'),
)
