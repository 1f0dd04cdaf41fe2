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


def _filled(known: model.Model) -> list[model.Volume]:
    return [v for v in known.on_ceph() if v.filled is not None]


def _draw_write(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = _filled(known)
    if not volumes:
        return None
    volume = rng.choice(volumes)
    blocks = content.drawn(rng, volume.size)
    return {'volume': volume.name, 'blocks': blocks}


def _write(world: World, volume: str, blocks: dict[str, int]) -> None:
    vol = rule.volume_of(world, volume)
    if vol.backend is None or vol.filled is None or not vol.idle:
        raise rule.Missing(volume)
    wanted = {int(at): number for at, number in blocks.items()}
    world.cluster.write(vol.backend.pool, vol.image, wanted)
    vol.filled.update(wanted)
    world.tell(f'operator: {len(wanted)} blocks into {volume}')


def _draw_snapshot(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in known.volumes.values()
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
    vol = rule.volume_of(world, volume)
    caller = world.callers[vol.owner]
    body: dict[str, Any] = {
        'volume_id': vol.ident,
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
        vol.size,
        None if vol.filled is None else dict(vol.filled),
        world.state(vol),
        vol.kind,
        vol.owner,
        vol.foreign,
    )
    world.settle_other(f'/snapshots/{ident}')


def _draw_revert(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in known.on_ceph() if known.snapshots_of(v.name)]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    snapshot = known.snapshots_of(volume.name)[-1]
    return {'volume': volume.name, 'snapshot': snapshot.name}


def _revert(world: World, volume: str, snapshot: str) -> None:
    vol = rule.volume_of(world, volume)
    source = world.model.snapshots.get(snapshot)
    if source is None:
        raise rule.Missing(snapshot)
    answer = world.callers[vol.owner].send(
        'POST',
        f'/volumes/{vol.ident}/action',
        {'revert': {'snapshot_id': source.ident}},
    )
    same = source.size == vol.size and source.volume == volume
    expected = Verdict.ACCEPTED if same else Verdict.REFUSED
    if world.model.offered(volume) or not vol.idle:
        expected = Verdict.EITHER
    if world.judge(answer, expected, f'{volume} to {snapshot}'):
        world.settle(vol)
        vol.filled = None if source.filled is None else dict(source.filled)
        world.settle_other(f'/snapshots/{source.ident}')


def _draw_backup(known: model.Model, rng: random.Random) -> rule.Args | None:
    # Use 1 GiB only, because larger volumes take long.
    volumes = [v for v in _filled(known) if v.size == 1 and v.owner in 'ab']
    if not volumes:
        return None
    return {'volume': rng.choice(volumes).name}


def _backup(world: World, new: str, volume: str) -> None:
    vol = rule.volume_of(world, volume)
    caller = world.callers[vol.owner]
    body = {'volume_id': vol.ident, 'name': new}
    answer = caller.send('POST', '/backups', {'backup': body})
    if not world.judge(answer, Verdict.EITHER, f'{new} of {volume}'):
        return
    ident = answer.body['backup']['id']
    world.model.backups[new] = model.Backup(
        new,
        ident,
        vol.owner,
        vol.size,
        None if vol.filled is None else dict(vol.filled),
        dict(vol.keys),
    )
    world.settle_other(f'/backups/{ident}')
    world.settle(vol)


def _draw_restore(known: model.Model, rng: random.Random) -> rule.Args | None:
    if not known.backups:
        return None
    backup = rng.choice(list(known.backups.values()))
    volumes = [v for v in _filled(known) if v.owner == backup.owner]
    target = rng.choice(volumes).name if volumes else ''
    return {'backup': backup.name, 'volume': target} if target else None


def _restore(world: World, backup: str, volume: str) -> None:
    vol = rule.volume_of(world, volume)
    source = world.model.backups.get(backup)
    if source is None:
        raise rule.Missing(backup)
    answer = world.callers[source.owner].send(
        'POST',
        f'/backups/{source.ident}/restore',
        {'restore': {'volume_id': vol.ident}},
    )
    if not world.judge(answer, Verdict.EITHER, f'{backup} into {volume}'):
        return
    record = world.settle(vol)
    world.settle_other(f'/backups/{source.ident}')
    if vol.filled is not None and source.filled is not None:
        vol.filled = content.restored(vol.filled, source.filled, source.size)
    else:
        vol.filled = None
    now = metadata.ours(record['metadata'])
    for key, value in vol.keys.items():
        if now.get(key) != value:
            world.violate('keys-lost', f'{volume}: {key} was {value}: {now}')
    vol.keys = now


def _draw_upload(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in _filled(known) if v.size == 1 and v.owner in 'ab']
    return {'volume': rng.choice(volumes).name} if volumes else None


def _upload(world: World, new: str, volume: str) -> None:
    vol = rule.volume_of(world, volume)
    caller = world.callers[vol.owner]
    options = {
        'image_name': new,
        'disk_format': 'raw',
        'container_format': 'bare',
        'visibility': 'private',
    }
    answer = caller.send(
        'POST',
        f'/volumes/{vol.ident}/action',
        {'os-volume_upload_image': options},
    )
    if not world.judge(answer, Verdict.EITHER, f'{new} of {volume}'):
        return
    ident = answer.body['os-volume_upload_image']['image_id']
    world.settle(vol)
    filled = None if vol.filled is None else dict(vol.filled)
    image = model.Image(new, ident, vol.owner, vol.size, filled)
    world.model.images[new] = image
    status = caller.get(f'/images/{ident}', 'image').body.get('status')
    if status != 'active':
        world.violate('not-uploaded', f'{new} of {volume} is {status}')
        return
    digests = world.cluster.content('images', ident)
    if filled is not None and digests != content.digests(filled):
        world.violate('content', f'{new} of {volume}: {sorted(digests)}')


RULES = (
    rule.Rule('write', 5, _draw_write, _write),
    rule.Rule('snapshot', 4, _draw_snapshot, _snapshot, 's'),
    rule.Rule('revert', 2, _draw_revert, _revert),
    rule.Rule('backup', 1.5, _draw_backup, _backup, 'b'),
    rule.Rule('restore', 2, _draw_restore, _restore),
    rule.Rule('upload', 0.6, _draw_upload, _upload, 'i'),
)
