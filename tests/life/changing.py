# SPDX-License-Identifier: Apache-2.0

"""Rules that change a volume: keys, size, type, back end."""

from __future__ import annotations

import random
from urllib import parse

from tests.life import creating
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import quota
from tests.life import rule
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World

_MODE = 'rbd:cache_mode'


def _draw_keys(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in known.volumes.values() if v.owner in 'ab']
    if not volumes:
        return None
    volume = rng.choice(volumes)
    key, value = metadata.one(rng)
    how = rng.choice(('POST', 'PUT', 'PUT one', 'DELETE', 'update'))
    if how == 'DELETE' and volume.keys and rng.random() < 0.5:
        key = rng.choice(sorted(volume.keys))
        if rng.random() < 0.4:
            key = rng.choice((key.upper(), key.title(), f'{key} '))
    return {'volume': volume.name, 'how': how, 'key': key, 'value': value}


def _set_keys(
    world: World, volume: str, how: str, key: str, value: str
) -> None:
    vol = rule.volume_of(world, volume)
    caller = world.callers[vol.owner]
    path = f'/volumes/{vol.ident}/metadata'
    quoted = f'{path}/{parse.quote(key)}'
    item = {key: value}
    if how == 'POST':
        answer = caller.send('POST', path, {'metadata': item})
    elif how == 'PUT':
        answer = caller.send('PUT', path, {'metadata': item})
    elif how == 'PUT one':
        answer = caller.send('PUT', quoted, {'meta': item})
    elif how == 'DELETE':
        answer = caller.send('DELETE', quoted)
    else:
        body = {'volume': {'metadata': item}}
        answer = caller.send('PUT', f'/volumes/{vol.ident}', body)
    after = _after(vol.keys, how, key, value)
    expected = _judge_change(vol, after, how, key)
    if world.judge(answer, expected, f'{how} {item} on {volume}'):
        vol.keys = after


def _after(
    before: dict[str, str], how: str, key: str, value: str
) -> dict[str, str]:
    if how == 'DELETE':
        return {k: v for k, v in before.items() if k != key}
    item = metadata.ours({key: value})
    return item if how in ('PUT', 'update') else {**before, **item}


def _judge_change(
    vol: model.Volume, after: dict[str, str], how: str, key: str
) -> Verdict:
    if metadata.is_misspelled(key):
        return Verdict.REFUSED
    before = vol.keys
    changed = {
        each
        for each in before.keys() | after.keys()
        if before.get(each) != after.get(each)
    }
    if how == 'DELETE' and key not in before:
        return Verdict.REFUSED
    if changed - {_MODE}:
        return Verdict.REFUSED
    if not changed:
        return Verdict.EITHER
    if vol.status not in ('available', 'in-use'):
        return Verdict.EITHER
    if not vol.backend or not vol.backend.ours:
        return Verdict.REFUSED
    if _MODE not in after:
        return Verdict.ACCEPTED
    allowed = vol.kind.tenant_options(vol.backend)
    mode = after[_MODE]
    if _MODE not in allowed or mode not in vol.backend.cache_modes:
        return Verdict.REFUSED
    return Verdict.EITHER if vol.kind.multiattach else Verdict.ACCEPTED


def _draw_extend(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in known.volumes.values()
        if v.status in ('available', 'in-use') and v.owner in 'ab'
    ]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    size = volume.size + rng.choice((-1, 0, 1, 1, 1, 2, 2))
    return {'volume': volume.name, 'size': size}


def _extend(world: World, volume: str, size: int) -> None:
    vol = rule.volume_of(world, volume)
    caller = world.callers[vol.owner]
    answer = caller.send(
        'POST',
        f'/volumes/{vol.ident}/action',
        {'os-extend': {'new_size': size}},
    )
    expected = _judge_size(world, vol, size)
    if world.judge(answer, expected, f'{volume} to {size} GiB'):
        world.settle(vol)
        vol.size = size


def _judge_size(world: World, vol: model.Volume, size: int) -> Verdict:
    if size <= vol.size or size < 1:
        return Verdict.REFUSED
    if vol.status != 'available':
        # Cinder may refuse a volume of several servers, and the stock driver
        # checks with its back end.
        return Verdict.EITHER
    state = world.state(vol)
    if state is None:
        return Verdict.ACCEPTED
    striped = (state.stripe_unit, state.stripe_count)
    if metadata.whole_stripes(striped, size):
        return Verdict.ACCEPTED
    if vol.managed:
        # The striping was not requested with a key.
        return Verdict.ACCEPTED
    return Verdict.REFUSED


def _draw_retype(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in known.idle() if not known.offered(v.name)]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    targets = [*kinds.public(), *kinds.public(), *kinds.by_name().values()]
    target = rng.choice(targets)
    policy = rng.choice(('never', 'on-demand', 'on-demand'))
    if not (target.on_ceph and volume.kind.on_ceph):
        # The back end that is not RBD cannot copy data.
        policy = 'never'
    return {
        'volume': volume.name,
        'kind': target.name,
        'policy': policy,
        'by': rng.choice((volume.owner, volume.owner, 'admin')),
    }


def _retype(
    world: World, volume: str, kind: str, policy: str, by: str
) -> None:
    vol = rule.volume_of(world, volume)
    target = kinds.by_name()[kind]
    before = world.state(vol)
    body = {'new_type': world.type_name(target), 'migration_policy': policy}
    path = f'/volumes/{vol.ident}/action'
    answer = world.callers[by].send('POST', path, {'os-retype': body})
    hidden = not target.public and by != 'admin'
    if hidden:
        creating.check_undisclosed(world, answer.text, f'{volume} to {kind}')
    expected = _judge_retype(world, vol, target, policy, hidden)
    what = f'{volume} from {vol.kind.name} to {kind}, {policy}'
    if not world.judge(answer, expected, what):
        return
    keys, former = vol.keys, vol.backend
    record = world.settle(vol)
    now = world.kind(record['volume_type'])
    moves = policy != 'never' and not world.model.snapshots_of(volume)
    if now != target and moves and target.on_ceph:
        world.violate('not-retyped', what)
    if now != target and by == 'admin':
        quota.expect_lost(world, vol.owner, target)
    # If the types differ only in their back ends, the stock driver moves or
    # copies the image to a back end without a data pool.
    if now != vol.kind and _moved_by_stock(former, target):
        vol.unrecorded = True
    vol.kind = now
    vol.flagged = bool(record['multiattach'])
    vol.keys = metadata.ours(record['metadata'])
    if not now.ours and vol.keys:
        vol.keys = _forgotten(world, vol)
    if now != target and vol.keys != keys:
        world.violate('keys-changed', f'{what}: not done, but {vol.keys}')
    for key, value in vol.keys.items():
        if keys.get(key) != value:
            world.violate('keys-changed', f'{what}: now {key} = {value}')
    if before:
        vol.bases = [before]
        vol.inherits = False
    if not now.on_ceph:
        vol.filled, vol.bases = None, []
    elif vol.filled is None and not before:
        # The content is unknown after a retype from a back end that stores no
        # data.
        vol.filled = None


def _moved_by_stock(former: kinds.Backend | None, target: kinds.Kind) -> bool:
    return (
        former is not None
        and not former.ours
        and not target.specs
        and not target.multiattach
    )


def _forgotten(world: World, vol: model.Volume) -> dict[str, str]:
    """Wait until the keys of a volume that left our driver are removed.

    Cinder deletes the former image after it reports the volume as available.
    """

    def gone() -> bool:
        answer = world.admin.get(f'/volumes/{vol.ident}/metadata')
        return not metadata.ours(answer.body['metadata'])

    world.until(gone, f'{vol.name} to lose its keys')
    return {}


def _judge_retype(
    world: World,
    vol: model.Volume,
    target: kinds.Kind,
    policy: str,
    hidden: bool,
) -> Verdict:
    if hidden or target == vol.kind:
        return Verdict.REFUSED
    if _converts(vol, target):
        return Verdict.ACCEPTED
    if policy == 'never' or not target.on_ceph or not vol.kind.on_ceph:
        return Verdict.EITHER
    if world.model.snapshots_of(vol.name):
        # Cinder does not migrate a volume with snapshots.
        return Verdict.EITHER
    striping = metadata.pair(target.own)
    if striping and not metadata.whole_stripes(striping, vol.size):
        return Verdict.EITHER
    if not target.public:
        # The volume's project may not use the type.
        return Verdict.EITHER
    return Verdict.ACCEPTED


def _converts(vol: model.Volume, target: kinds.Kind) -> bool:
    """Return whether the API expects a copy to replace a volume's image.

    Snapshots do not prevent that. Clones do, but only the driver
    detects them.
    """
    here = vol.backend
    if here is None or not here.ours or here.name not in target.backends:
        return False
    if vol.shared or target.multiattach or not target.public:
        return False
    striping = metadata.pair(target.own)
    if striping is None:
        return True
    fits = metadata.whole_stripes(striping, vol.size)
    return fits and striping[1] <= here.max_count


def _draw_migrate(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [v for v in known.on_ceph() if len(v.kind.backends) > 1]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    return {'volume': volume.name, 'copied': rng.random() < 0.6}


def _migrate(world: World, volume: str, copied: bool) -> None:
    vol = rule.volume_of(world, volume)
    before, here = world.state(vol), vol.backend
    if before is None or here is None:
        raise rule.Missing(volume)
    (target,) = (
        kinds.BACKENDS[name] for name in vol.kind.backends if name != here.name
    )
    body = {'host': target.host, 'force_host_copy': copied}
    answer = world.admin.send(
        'POST',
        f'/volumes/{vol.ident}/action',
        {'os-migrate_volume': body},
    )
    fits = before.stripe_count <= target.max_count
    mode = vol.keys.get(_MODE, 'none')
    fits = fits and mode in target.cache_modes
    expected = Verdict.ACCEPTED if fits else Verdict.EITHER
    if world.model.snapshots_of(volume):
        expected = Verdict.EITHER
    what = f'{volume} to {target.host}'
    if not world.judge(answer, expected, what):
        return
    record = world.settle(vol)
    if record['migration_status'] != 'success' and fits:
        world.violate('not-migrated', f'{what}: {record["migration_status"]}')
    vol.bases, vol.inherits = [before], True
    # The volume moves unchanged, whatever the limits of the other back end
    # are.
    vol.foreign = vol.foreign or not fits


RULES = (
    rule.Rule('keys', 6, _draw_keys, _set_keys),
    rule.Rule('extend', 4, _draw_extend, _extend),
    rule.Rule('retype', 5, _draw_retype, _retype),
    rule.Rule('migrate', 1, _draw_migrate, _migrate),
)
