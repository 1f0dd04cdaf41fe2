# SPDX-License-Identifier: Apache-2.0

"""Rules that delete, and the clean-up at the end of a sequence."""

from __future__ import annotations

import random

from tests.life import attaching
from tests.life import metadata
from tests.life import model
from tests.life import owning
from tests.life import rule
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World


def _draw_volume(known: model.Model, rng: random.Random) -> rule.Args | None:
    if not known.volumes:
        return None
    return {'volume': rng.choice(list(known.volumes))}


def volume(world: World, volume: str) -> None:
    """Delete a volume."""
    vol = rule.volume_of(world, volume)
    answer = world.callers[vol.owner].send('DELETE', f'/volumes/{vol.ident}')
    busy = (
        vol.status not in ('available', 'error')
        or world.model.offered(volume)
        or bool(world.model.snapshots_of(volume))
    )
    expected = Verdict.REFUSED if busy else Verdict.ACCEPTED
    if world.judge(answer, expected, f'delete {volume}'):
        if world.gone(f'/volumes/{vol.ident}'):
            del world.model.volumes[volume]
        else:
            vol.status = 'error'


def _draw_other(known: model.Model, rng: random.Random) -> rule.Args | None:
    pairs = [
        *(('snapshots', name) for name in known.snapshots),
        *(('backups', name) for name in known.backups),
        *(('images', name) for name in known.images),
    ]
    if not pairs:
        return None
    kind, name = rng.choice(pairs)
    return {'kind': kind, 'name': name}


def other(world: World, kind: str, name: str) -> None:
    """Delete a snapshot, a backup or an image."""
    by_name = getattr(world.model, kind)
    entry = by_name.get(name)
    if entry is None:
        raise rule.Missing(name)
    caller = world.callers[entry.owner]
    service = 'image' if kind == 'images' else 'block_storage'
    path = f'/{kind}/{entry.ident}'
    answer = caller.send('DELETE', path, service=service)
    accepted = world.judge(answer, Verdict.ACCEPTED, f'delete {name}')
    if accepted and world.gone(path, service):
        del by_name[name]


def all_of_it(world: World, rng: random.Random) -> None:
    """Delete everything, in random order where the order is free."""
    known = world.model
    for transfer in list(known.transfers):
        owning.accept(world, transfer, 'cancel', True)
    for each in list(known.volumes.values()):
        for attachment in list(each.attachments):
            attaching.detach(world, each.name, attachment)
    names = [
        *(('snapshots', name) for name in known.snapshots),
        *(('backups', name) for name in known.backups),
        *(('images', name) for name in known.images),
        *(('volumes', name) for name in known.volumes),
    ]
    rng.shuffle(names)
    # A volume can be deleted only after its snapshots.
    later = []
    for kind, name in names:
        if kind != 'volumes':
            other(world, kind, name)
        elif known.snapshots_of(name):
            later.append(name)
        else:
            volume(world, name)
    for name in later:
        volume(world, name)
    for stray in list(known.strays.values()):
        world.cluster.remove(stray.backend.pool, stray.image)
        del known.strays[stray.name]


RULES = (
    rule.Rule('delete', 3, _draw_volume, volume),
    rule.Rule('delete other', 2, _draw_other, other),
)
