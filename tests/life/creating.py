# SPDX-License-Identifier: Apache-2.0

"""Rules that create volumes, empty or from any source."""

from __future__ import annotations

from collections.abc import Iterable
import random
from typing import Any

from tests.life import content
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import rule
from tests.life import state as states
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World

#: Probability that a request names the private type, which tenants cannot see.
_PRIVATE = 0.05
_FAKE = 0.08


def _type(rng: random.Random) -> str:
    chance = rng.random()
    if chance < _PRIVATE:
        return 'private'
    if chance < _PRIVATE + _FAKE:
        return 'fake'
    return rng.choice([k.name for k in kinds.public() if k.on_ceph])


def _new(rng: random.Random, owner: str = '') -> rule.Args:
    return {
        'owner': owner or rng.choice('ab'),
        'kind': _type(rng),
        'size': rng.choice((1, 1, 1, 2, 3)),
        'keys': metadata.drawn(rng),
    }


def _draw_plain(known: model.Model, rng: random.Random) -> rule.Args | None:
    return _new(rng)


def _draw_image(known: model.Model, rng: random.Random) -> rule.Args | None:
    args = {**_new(rng), 'image': ''}
    # Back ends other than RBD cannot write an image.
    if args['kind'] == 'fake':
        args['kind'] = 'plain'
    mine = [i for i in known.images.values() if i.owner == args['owner']]
    if mine and rng.random() < 0.7:
        image = rng.choice(mine)
        args.update(image=image.name, size=max(args['size'], image.size))
    return args


def _draw_snapshot(known: model.Model, rng: random.Random) -> rule.Args | None:
    sources = [s for s in known.snapshots.values() if _is_copied(s.kind)]
    if not sources:
        return None
    source = rng.choice(sources)
    args = _new(rng, source.owner)
    args['size'] = max(args['size'], source.size)
    return {**_like(args, source.kind, rng), 'snapshot': source.name}


def _draw_clone(known: model.Model, rng: random.Random) -> rule.Args | None:
    sources = [
        each
        for each in known.volumes.values()
        if each.status in ('available', 'in-use')
        and each.owner in 'ab'
        and _is_copied(each.kind)
    ]
    if not sources:
        return None
    source = rng.choice(sources)
    args = _new(rng, source.owner)
    args['size'] = max(args['size'], source.size)
    return {**_like(args, source.kind, rng), 'volume': source.name}


def _is_copied(kind: kinds.Kind) -> bool:
    """Return whether volumes of a type are copied.

    The stock RBD driver leaves ``*.deleted`` images of copied volumes behind.
    """
    return kind.ours or not kind.on_ceph


def _like(args: rule.Args, kind: kinds.Kind, rng: random.Random) -> rule.Args:
    """Give a copy the type of its source or another type of its back end."""
    if rng.random() < 0.3 or not kind.on_ceph:
        return {**args, 'kind': kind.name}
    if args['kind'] in ('fake', 'private'):
        return args
    near = [
        each.name for each in kinds.public() if each.backends == kind.backends
    ]
    return {**args, 'kind': rng.choice(near)}


def _draw_backup(known: model.Model, rng: random.Random) -> rule.Args | None:
    if not known.backups:
        return None
    source = rng.choice(list(known.backups.values()))
    args = _new(rng, source.owner)
    if args['kind'] == 'fake':
        args['kind'] = 'plain'
    args['size'] = max(args['size'], source.size)
    return {**args, 'backup': source.name}


def _plain(world: World, new: str, **args: Any) -> None:
    _create(world, new, args, {}, {})


def _from_image(world: World, new: str, image: str, **args: Any) -> None:
    source = world.model.images.get(image) if image else world.image
    if source is None:
        raise rule.Missing(image)
    body = {'imageRef': source.ident}
    _create(world, new, args, body, source.filled)


def _from_snapshot(world: World, new: str, snapshot: str, **args: Any) -> None:
    source = world.model.snapshots.get(snapshot)
    if source is None:
        raise rule.Missing(snapshot)
    body = {'snapshot_id': source.ident}
    made = _create(
        world, new, args, body, source.filled, source.state, source.kind
    )
    if made:
        made.foreign = source.foreign


def _from_volume(world: World, new: str, volume: str, **args: Any) -> None:
    source = rule.volume_of(world, volume)
    body = {'source_volid': source.ident}
    state = world.state(source)
    made = _create(world, new, args, body, source.filled, state, source.kind)
    if made:
        made.foreign = source.foreign


def _from_backup(world: World, new: str, backup: str, **args: Any) -> None:
    source = world.model.backups.get(backup)
    if source is None:
        raise rule.Missing(backup)
    body = {'backup_id': source.ident}
    made = _create(world, new, args, body, source.filled)
    if made:
        # Keys of the backup may remain if no others were requested.
        _check_restored(world, made, source)


def _check_restored(
    world: World, made: model.Volume, source: model.Backup
) -> None:
    answer = world.admin.get(f'/volumes/{made.ident}')
    now = metadata.ours(answer.body['volume']['metadata'])
    for key, value in made.keys.items():
        if now.get(key) != value:
            world.violate('keys-lost', f'{made.name}: {key} was {value}')
    made.keys = now
    world.settle_other(f'/backups/{source.ident}')


def _create(
    world: World,
    new: str,
    args: dict[str, Any],
    body: dict[str, Any],
    filled: content.Content | None,
    state: states.State | None = None,
    source: kinds.Kind | None = None,
) -> model.Volume | None:
    kind = kinds.by_name()[args['kind']]
    caller = world.callers[args['owner']]
    request = {
        'name': new,
        'size': args['size'],
        'volume_type': world.type_name(kind),
        'metadata': args['keys'],
        **body,
    }
    answer = caller.send('POST', '/volumes', {'volume': request})
    if not kind.public:
        check_undisclosed(
            world,
            answer.text,
            f'{new} of a private type',
            args['keys'].values(),
        )
    expected = _expected(args, kind, source, state)
    if not world.judge(answer, expected, f'{new}: {args}'):
        return None
    volume = model.Volume(
        new,
        answer.body['volume']['id'],
        args['owner'],
        kind,
        args['size'],
        metadata.ours(args['keys']),
        dict(filled) if filled is not None and kind.on_ceph else None,
        bases=[state] if state else [],
    )
    world.model.volumes[new] = volume
    world.settle(volume)
    return volume


def _expected(
    args: dict[str, Any],
    kind: kinds.Kind,
    source: kinds.Kind | None,
    state: states.State | None,
) -> Verdict:
    verdict = metadata.judge(
        args['keys'], kind, args['size'], from_source=state is not None
    )
    if verdict is Verdict.ACCEPTED and source and source != kind:
        # Cinder has its own rules for the types of copies.
        same = source.backends == kind.backends
        if not same or source.multiattach or kind.multiattach:
            return Verdict.EITHER
    return verdict


def check_undisclosed(
    world: World, text: str, what: str, repeated: Iterable[str] = ()
) -> None:
    """Check that an answer does not disclose the private type's specs.

    :param repeated: values in the request, which a refusal repeats
    """
    for word in ('volumes-data', '16K', '16 KiB', 'x 7'):
        if word in text and not any(word in value for value in repeated):
            world.violate('type-disclosed', f'{what}: {text}')
            return


RULES = (
    rule.Rule('create', 6, _draw_plain, _plain, 'v'),
    rule.Rule('create from image', 2, _draw_image, _from_image, 'v'),
    rule.Rule('create from snapshot', 3, _draw_snapshot, _from_snapshot, 'v'),
    rule.Rule('create from volume', 4, _draw_clone, _from_volume, 'v'),
    rule.Rule('create from backup', 2, _draw_backup, _from_backup, 'v'),
)
