# SPDX-License-Identifier: Apache-2.0

"""Rules about the content of volumes: written, copied or restored."""

from __future__ import annotations

import random
from typing import Any

from tests.life import content
from tests.life import metadata
from tests.life import model
from tests.life import rule
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World


def _filled(there: model.Model) -> list[model.Volume]:
    return [v for v in there.on_ceph() if v.filled is not None]


def _draw_write(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = _filled(there)
    if not volumes:
        return None
    volume = rng.choice(volumes)
    blocks = content.drawn(rng, volume.size)
    return {'volume': volume.name, 'blocks': blocks}


def _write(world: World, volume: str, blocks: dict[str, int]) -> None:
    there = rule.volume_of(world, volume)
    if there.backend is None or there.filled is None or not there.idle:
        raise rule.Missing(volume)
    wanted = {int(at): number for at, number in blocks.items()}
    world.cluster.write(there.backend.pool, there.image, wanted)
    there.filled.update(wanted)
    world.tell(f'operator: {len(wanted)} blocks into {volume}')


def _draw_snapshot(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in there.volumes.values()
        if v.status in ('available', 'in-use') and v.owner in 'ab'
    ]
    if not volumes:
        return None
    keys = {}
    if rng.random() < 0.15:
        keys[metadata.misspelled(rng)] = '4'
    return {'volume': rng.choice(volumes).name, 'keys': keys}


def _snapshot(
    world: World, new: str, volume: str, keys: dict[str, str]
) -> None:
    there = rule.volume_of(world, volume)
    caller = world.callers[there.owner]
    body: dict[str, Any] = {
        'volume_id': there.ident,
        'name': new,
        'metadata': keys,
    }
    answer = caller.send('POST', '/snapshots', {'snapshot': body})
    expected = Verdict.REFUSED if keys else Verdict.ACCEPTED
    if not keys and world.model.offered(volume):
        expected = Verdict.EITHER
    if not world.judge(answer, expected, f'{new} of {volume}'):
        return
    ident = answer.body['snapshot']['id']
    world.model.snapshots[new] = model.Snapshot(
        new,
        ident,
        volume,
        there.size,
        None if there.filled is None else dict(there.filled),
        world.state(there),
        there.kind,
        there.owner,
        there.foreign,
    )
    world.settle_other(f'/snapshots/{ident}')


def _draw_revert(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in there.on_ceph() if there.snapshots_of(v.name)]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    snapshot = there.snapshots_of(volume.name)[-1]
    return {'volume': volume.name, 'snapshot': snapshot.name}


def _revert(world: World, volume: str, snapshot: str) -> None:
    there = rule.volume_of(world, volume)
    source = world.model.snapshots.get(snapshot)
    if source is None:
        raise rule.Missing(snapshot)
    answer = world.callers[there.owner].send(
        'POST',
        f'/volumes/{there.ident}/action',
        {'revert': {'snapshot_id': source.ident}},
    )
    same = source.size == there.size and source.volume == volume
    expected = Verdict.ACCEPTED if same else Verdict.REFUSED
    if world.model.offered(volume) or not there.idle:
        expected = Verdict.EITHER
    if world.judge(answer, expected, f'{volume} to {snapshot}'):
        world.settle(there)
        there.filled = None if source.filled is None else dict(source.filled)
        world.settle_other(f'/snapshots/{source.ident}')


def _draw_backup(there: model.Model, rng: random.Random) -> rule.Args | None:
    # Use 1 GiB only, because larger volumes take long.
    volumes = [v for v in _filled(there) if v.size == 1 and v.owner in 'ab']
    if not volumes:
        return None
    return {'volume': rng.choice(volumes).name}


def _backup(world: World, new: str, volume: str) -> None:
    there = rule.volume_of(world, volume)
    caller = world.callers[there.owner]
    body = {'volume_id': there.ident, 'name': new}
    answer = caller.send('POST', '/backups', {'backup': body})
    if not world.judge(answer, Verdict.EITHER, f'{new} of {volume}'):
        return
    ident = answer.body['backup']['id']
    world.model.backups[new] = model.Backup(
        new,
        ident,
        there.owner,
        there.size,
        None if there.filled is None else dict(there.filled),
        dict(there.keys),
    )
    world.settle_other(f'/backups/{ident}')
    world.settle(there)


def _draw_restore(there: model.Model, rng: random.Random) -> rule.Args | None:
    if not there.backups:
        return None
    backup = rng.choice(list(there.backups.values()))
    volumes = [v for v in _filled(there) if v.owner == backup.owner]
    target = rng.choice(volumes).name if volumes else ''
    return {'backup': backup.name, 'volume': target} if target else None


def _restore(world: World, backup: str, volume: str) -> None:
    there = rule.volume_of(world, volume)
    source = world.model.backups.get(backup)
    if source is None:
        raise rule.Missing(backup)
    answer = world.callers[source.owner].send(
        'POST',
        f'/backups/{source.ident}/restore',
        {'restore': {'volume_id': there.ident}},
    )
    if not world.judge(answer, Verdict.EITHER, f'{backup} into {volume}'):
        return
    record = world.settle(there)
    world.settle_other(f'/backups/{source.ident}')
    if there.filled is not None and source.filled is not None:
        there.filled = content.restored(
            there.filled, source.filled, source.size
        )
    else:
        there.filled = None
    now = metadata.ours(record['metadata'])
    for key, value in there.keys.items():
        if now.get(key) != value:
            world.violate('keys-lost', f'{volume}: {key} was {value}: {now}')
    there.keys = now


def _draw_upload(there: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in _filled(there) if v.size == 1 and v.owner in 'ab']
    return {'volume': rng.choice(volumes).name} if volumes else None


def _upload(world: World, new: str, volume: str) -> None:
    there = rule.volume_of(world, volume)
    caller = world.callers[there.owner]
    asked = {
        'image_name': new,
        'disk_format': 'raw',
        'container_format': 'bare',
        'visibility': 'private',
    }
    answer = caller.send(
        'POST',
        f'/volumes/{there.ident}/action',
        {'os-volume_upload_image': asked},
    )
    if not world.judge(answer, Verdict.EITHER, f'{new} of {volume}'):
        return
    ident = answer.body['os-volume_upload_image']['image_id']
    world.settle(there)
    filled = None if there.filled is None else dict(there.filled)
    image = model.Image(new, ident, there.owner, there.size, filled)
    world.model.images[new] = image
    status = caller.get(f'/images/{ident}', 'image').body.get('status')
    if status != 'active':
        world.violate('not-uploaded', f'{new} of {volume} is {status}')
        return
    found = world.cluster.content('images', ident)
    if filled is not None and found != content.digests(filled):
        world.violate('content', f'{new} of {volume}: {sorted(found)}')


RULES = (
    rule.Rule('write', 5, _draw_write, _write),
    rule.Rule('snapshot', 4, _draw_snapshot, _snapshot, 's'),
    rule.Rule('revert', 2, _draw_revert, _revert),
    rule.Rule('backup', 1.5, _draw_backup, _backup, 'b'),
    rule.Rule('restore', 2, _draw_restore, _restore),
    rule.Rule('upload', 0.6, _draw_upload, _upload, 'i'),
)
