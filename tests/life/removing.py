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


def _draw_volume(there: model.Model, rng: random.Random) -> rule.Args | None:
    if not there.volumes:
        return None
    return {'volume': rng.choice(list(there.volumes))}


def volume(world: World, volume: str) -> None:
    """Delete a volume."""
    there = rule.volume_of(world, volume)
    answer = world.callers[there.owner].send(
        'DELETE', f'/volumes/{there.ident}'
    )
    busy = (
        there.status not in ('available', 'error')
        or world.model.offered(volume)
        or bool(world.model.snapshots_of(volume))
    )
    expected = Verdict.REFUSED if busy else Verdict.ACCEPTED
    if world.judge(answer, expected, f'delete {volume}'):
        if world.gone(f'/volumes/{there.ident}'):
            del world.model.volumes[volume]
        else:
            there.status = 'error'


def _draw_other(there: model.Model, rng: random.Random) -> rule.Args | None:
    found = [
        *(('snapshots', name) for name in there.snapshots),
        *(('backups', name) for name in there.backups),
        *(('images', name) for name in there.images),
    ]
    if not found:
        return None
    kind, name = rng.choice(found)
    return {'kind': kind, 'name': name}


def other(world: World, kind: str, name: str) -> None:
    """Delete a snapshot, a backup or an image."""
    there = getattr(world.model, kind)
    found = there.get(name)
    if found is None:
        raise rule.Missing(name)
    caller = world.callers[found.owner]
    service = 'image' if kind == 'images' else 'block_storage'
    path = f'/{kind}/{found.ident}'
    answer = caller.send('DELETE', path, service=service)
    accepted = world.judge(answer, Verdict.ACCEPTED, f'delete {name}')
    if accepted and world.gone(path, service):
        del there[name]


def all_of_it(world: World, rng: random.Random) -> None:
    """Delete everything, in random order where the order is free."""
    there = world.model
    for transfer in list(there.transfers):
        owning.accept(world, transfer, 'cancel', True)
    for each in list(there.volumes.values()):
        for attachment in list(each.attachments):
            attaching.detach(world, each.name, attachment)
    names = [
        *(('snapshots', name) for name in there.snapshots),
        *(('backups', name) for name in there.backups),
        *(('images', name) for name in there.images),
        *(('volumes', name) for name in there.volumes),
    ]
    rng.shuffle(names)
    # A volume can be deleted only after its snapshots.
    later = []
    for kind, name in names:
        if kind != 'volumes':
            other(world, kind, name)
        elif there.snapshots_of(name):
            later.append(name)
        else:
            volume(world, name)
    for name in later:
        volume(world, name)
    for stray in list(there.strays.values()):
        world.cluster.remove(stray.backend.pool, stray.image)
        del there.strays[stray.name]


RULES = (
    rule.Rule('delete', 3, _draw_volume, volume),
    rule.Rule('delete other', 2, _draw_other, other),
)
