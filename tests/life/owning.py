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


def _draw_offer(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in known.idle() if v.owner in 'ab']
    return {'volume': rng.choice(volumes).name} if volumes else None


def _offer(world: World, new: str, volume: str) -> None:
    vol = rule.volume_of(world, volume)
    answer = world.callers[vol.owner].send(
        'POST',
        '/volume-transfers',
        {'transfer': {'volume_id': vol.ident, 'name': new}},
    )
    if not world.judge(answer, Verdict.EITHER, f'offer {volume}'):
        return
    transfer = answer.body['transfer']
    world.model.transfers[new] = model.Transfer(
        new, transfer['id'], volume, transfer['auth_key']
    )
    world.settle(vol)


def _draw_accept(known: model.Model, rng: random.Random) -> rule.Args | None:
    if not known.transfers:
        return None
    transfer = rng.choice(list(known.transfers))
    right = rng.random() < 0.8
    how = rng.choice(('accept', 'accept', 'cancel'))
    return {'transfer': transfer, 'how': how, 'right': right}


def accept(world: World, transfer: str, how: str, right: bool) -> None:
    """Accept a transfer as the other tenant, or cancel it as its owner."""
    offer = world.model.transfers.get(transfer)
    if offer is None:
        raise rule.Missing(transfer)
    vol = rule.volume_of(world, offer.volume)
    path = f'/volume-transfers/{offer.ident}'
    if how == 'cancel':
        answer = world.callers[vol.owner].send('DELETE', path)
        world.judge(answer, Verdict.ACCEPTED, f'cancel {transfer}')
    else:
        other = 'b' if vol.owner == 'a' else 'a'
        body = {'accept': {'auth_key': offer.key if right else 'wrong'}}
        answer = world.callers[other].send('POST', f'{path}/accept', body)
        expected = Verdict.ACCEPTED if right else Verdict.REFUSED
        if not world.judge(answer, expected, f'accept {transfer}'):
            return
        vol.owner = other
        for snapshot in world.model.snapshots_of(vol.name):
            snapshot.owner = other
    del world.model.transfers[transfer]
    world.settle(vol)


def _draw_unmanage(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in known.on_ceph()
        if not known.offered(v.name)
        and not v.kind.multiattach
        # Cinder does not know when an unmanaged clone is removed, and
        # keeps its source as `*.deleted`.
        and not v.bases
    ]
    return {'volume': rng.choice(volumes).name} if volumes else None


def _unmanage(world: World, new: str, volume: str) -> None:
    vol = rule.volume_of(world, volume)
    if vol.backend is None:
        raise rule.Missing(volume)
    answer = world.admin.send(
        'POST', f'/volumes/{vol.ident}/action', {'os-unmanage': None}
    )
    expected = Verdict.ACCEPTED
    if world.model.snapshots_of(volume):
        expected = Verdict.REFUSED
    if not world.judge(answer, expected, f'unmanage {volume}'):
        return
    world.gone(f'/volumes/{vol.ident}')
    del world.model.volumes[volume]
    world.model.strays[new] = model.Stray(
        new, vol.backend, vol.image, vol.size, vol.filled
    )


def _draw_make(known: model.Model, rng: random.Random) -> rule.Args | None:
    return {'layout': rng.choice(_BY_HAND), 'size': rng.choice((1, 3))}


def _make(world: World, new: str, layout: dict[str, int], size: int) -> None:
    backend = kinds.BACKENDS['rbd']
    image = f'{purge.PREFIX}{world.callers["a"].project}-{new}'
    world.cluster.make(backend.pool, image, size, **layout)
    world.tell(f'operator: image {new}: {layout}')
    world.model.strays[new] = model.Stray(new, backend, image, size, {})


def _draw_manage(known: model.Model, rng: random.Random) -> rule.Args | None:
    if not known.strays:
        return None
    stray = rng.choice(list(known.strays.values()))
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
    image = world.model.strays.get(stray)
    if image is None:
        raise rule.Missing(stray)
    of = kinds.by_name()[kind]
    state = world.cluster.state(image.backend.pool, image.image)
    body: dict[str, Any] = {
        'host': image.backend.host,
        'ref': {'source-name': image.image},
        'name': new,
        'volume_type': world.type_name(of),
        'metadata': keys,
    }
    answer = world.admin.send('POST', '/manageable_volumes', {'volume': body})
    expected = _judge_managed(keys, of, image, state)
    if not world.judge(answer, expected, f'manage {stray} as {kind}, {keys}'):
        return
    ident = answer.body['volume']['id']
    if expected is Verdict.EITHER and _is_left(world, ident, image):
        return
    del world.model.strays[stray]
    vol = model.Volume(
        new,
        answer.body['volume']['id'],
        'admin',
        of,
        image.size,
        metadata.ours(keys),
        image.filled,
        bases=[state] if state else [],
        managed=True,
        foreign=True,
    )
    world.model.volumes[new] = vol
    world.settle(vol)


def _is_left(world: World, ident: str, image: model.Stray) -> bool:
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
    if world.cluster.state(image.backend.pool, image.image) is None:
        world.violate('image-lost', f'{image.image} after a refused manage')
    world.admin.send('DELETE', f'/volumes/{ident}')
    world.gone(f'/volumes/{ident}')
    return True


def _judge_managed(
    keys: dict[str, str],
    kind: kinds.Kind,
    image: model.Stray,
    state: states.State | None,
) -> Verdict:
    if any(metadata.is_misspelled(key) for key in keys):
        return Verdict.REFUSED
    merged = {**kind.own, **metadata.ours(keys)}
    if merged or kind.data_pool(image.backend) != image.backend.data_pool:
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
