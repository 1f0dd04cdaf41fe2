# SPDX-License-Identifier: Apache-2.0

"""Rules for keys in extra specs, snapshots and image metadata."""

from __future__ import annotations

import random
from typing import Any

from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import rule
from tests.life import world as worlds

Verdict = metadata.Verdict

_PAIR = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '4'}


def _draw(known: model.Model, rng: random.Random) -> rule.Args | None:
    how = rng.choice(('delete one', 'misspell', 'half', 'valid'))
    return {'how': how, 'key': metadata.misspelled(rng)}


def _change(world: worlds.World, new: str, how: str, key: str) -> None:
    name = f'{world.prefix}-{world.callers["a"].project[:8]}-{new}'
    specs = {'volume_backend_name': 'rbd', **_PAIR}
    body: dict[str, Any] = {'name': name, 'extra_specs': specs}
    made = world.admin.send('POST', '/types', {'volume_type': body})
    if not world.judge(made, Verdict.ACCEPTED, f'type {specs}'):
        return
    path = f'/types/{made.body["volume_type"]["id"]}'
    try:
        _ask(world, path, how, key)
    finally:
        world.admin.send('DELETE', path)


def _ask(world: worlds.World, path: str, how: str, key: str) -> None:
    one = f'{path}/extra_specs/rbd:stripe_count'
    expected = Verdict.REFUSED
    if how == 'delete one':
        answer = world.admin.send('DELETE', one)
    elif how == 'misspell':
        body = {'extra_specs': {key: '4'}}
        answer = world.admin.send('POST', f'{path}/extra_specs', body)
    elif how == 'half':
        body = {'extra_specs': {'rbd:stripe_unit': '3'}}
        answer = world.admin.send('POST', f'{path}/extra_specs', body)
    else:
        answer = world.admin.send('PUT', one, {'rbd:stripe_count': '8'})
        expected = Verdict.ACCEPTED
    world.judge(answer, expected, f'type with {_PAIR}: {how} {key!r}')


def _draw_image_key(
    known: model.Model, rng: random.Random
) -> rule.Args | None:
    volumes = [v for v in known.volumes.values() if v.owner in 'ab']
    if not volumes:
        return None
    ours = (*kinds.ALL, metadata.misspelled(rng), 'rbd_volume_options_error')
    key = rng.choice((*ours, 'os_distro'))
    return {'volume': rng.choice(volumes).name, 'key': key}


def _image_key(world: worlds.World, volume: str, key: str) -> None:
    vol = rule.volume_of(world, volume)
    answer = world.callers[vol.owner].send(
        'POST',
        f'/volumes/{vol.ident}/action',
        {'os-set_image_metadata': {'metadata': {key: '4'}}},
    )
    expected = Verdict.REFUSED
    if key == 'os_distro':
        expected = Verdict.EITHER
    world.judge(answer, expected, f'image metadata {key!r} of {volume}')


def _draw_snapshot_key(
    known: model.Model, rng: random.Random
) -> rule.Args | None:
    if not known.snapshots:
        return None
    key = rng.choice((*kinds.ALL, metadata.misspelled(rng)))
    how = rng.choice(('POST', 'PUT'))
    return {'snapshot': rng.choice([*known.snapshots]), 'how': how, 'key': key}


def _snapshot_key(
    world: worlds.World, snapshot: str, how: str, key: str
) -> None:
    taken = world.model.snapshots.get(snapshot)
    if taken is None:
        raise rule.Missing(snapshot)
    answer = world.callers[taken.owner].send(
        how, f'/snapshots/{taken.ident}/metadata', {'metadata': {key: '4'}}
    )
    world.judge(answer, Verdict.REFUSED, f'{how} {key!r} on {snapshot}')


RULES = (
    rule.Rule('extra specs', 0.7, _draw, _change, 'k'),
    rule.Rule('image key', 0.7, _draw_image_key, _image_key),
    rule.Rule('snapshot key', 0.7, _draw_snapshot_key, _snapshot_key),
)
