# SPDX-License-Identifier: Apache-2.0

"""Operations that change a volume: keys, size, type, back end."""

from __future__ import annotations

import random
from urllib import parse

from tests.life import cloud
from tests.life import creating
from tests.life import kinds
from tests.life import machine
from tests.life import metadata
from tests.life import model
from tests.life import quota

Verdict = metadata.Verdict

_MODE = 'rbd:cache_mode'


class Changing(machine.Machine):
    """Changes of volumes."""

    @machine.operation(lambda known: known.of_tenants())
    def change_keys(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Change the metadata of a volume."""
        key, value = metadata.one(rng)
        how = rng.choice(('POST', 'PUT', 'PUT one', 'DELETE', 'update'))
        if how == 'DELETE' and vol.keys and rng.random() < 0.5:
            key = rng.choice(sorted(vol.keys))
            if rng.random() < 0.4:
                key = rng.choice((key.upper(), key.title(), f'{key} '))
        yield
        path = f'/volumes/{vol.ident}/metadata'
        quoted = f'{path}/{parse.quote(key)}'
        item = {key: value}
        requests: dict[str, tuple[str, str, cloud.Record | None]] = {
            'POST': ('POST', path, {'metadata': item}),
            'PUT': ('PUT', path, {'metadata': item}),
            'PUT one': ('PUT', quoted, {'meta': item}),
            'DELETE': ('DELETE', quoted, None),
            'update': (
                'PUT',
                f'/volumes/{vol.ident}',
                {'volume': {'metadata': item}},
            ),
        }
        answer = self.callers[vol.owner].send(*requests[how])
        after = _after(vol.keys, how, key, value)
        expected = _judge_change(vol, after, how, key)
        if self.judge(answer, expected, f'{how} {item} on {vol.name}'):
            vol.keys = after

    @machine.operation(lambda known: known.usable())
    def extend(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Extend a volume, or try to shrink it."""
        size = vol.size + rng.choice((-1, 0, 1, 1, 1, 2, 2))
        yield
        answer = self.callers[vol.owner].send(
            'POST',
            f'/volumes/{vol.ident}/action',
            {'os-extend': {'new_size': size}},
        )
        expected = self._judge_size(vol, size)
        if self.judge(answer, expected, f'{vol.name} to {size} GiB'):
            self.settle(vol)
            vol.size = size

    def _judge_size(self, vol: model.Volume, size: int) -> Verdict:
        if size <= vol.size or size < 1:
            return Verdict.REFUSED
        if vol.status != 'available':
            # Cinder may refuse a volume of several servers, and the stock
            # driver checks with its back end.
            return Verdict.EITHER
        state = self.state(vol)
        # The striping of a managed volume was not requested with a key.
        if state is None or vol.managed:
            return Verdict.ACCEPTED
        striped = (state.stripe_unit, state.stripe_count)
        fits = metadata.whole_stripes(striped, size)
        return Verdict.ACCEPTED if fits else Verdict.REFUSED

    @machine.operation(
        lambda known: [v for v in known.idle() if not known.offered(v.name)]
    )
    def retype(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Change the type of a volume, with or without migration."""
        public = kinds.public()
        target = rng.choice([*public, *public, *kinds.by_name().values()])
        policy = rng.choice(('never', 'on-demand', 'on-demand'))
        if not (target.on_ceph and vol.kind.on_ceph):
            # The back end that is not RBD cannot copy data.
            policy = 'never'
        by = rng.choice((vol.owner, vol.owner, 'admin'))
        yield
        before = self.state(vol)
        request = {
            'new_type': self.type_name(target),
            'migration_policy': policy,
        }
        answer = self.callers[by].send(
            'POST', f'/volumes/{vol.ident}/action', {'os-retype': request}
        )
        hidden = not target.public and by != 'admin'
        if hidden:
            creating.check_undisclosed(answer.text)
        expected = self._judge_retype(vol, target, policy, hidden)
        what = f'{vol.name} from {vol.kind.name} to {target.name}, {policy}'
        if not self.judge(answer, expected, what):
            return
        keys, former = vol.keys, vol.backend
        record = self.settle(vol)
        now = self.kind(record['volume_type'])
        moves = policy != 'never' and not self.model.snapshots_of(vol.name)
        is_late = now != target and moves and target.on_ceph
        cloud.require(not is_late, f'not retyped: {what}')
        if now != target and by == 'admin':
            quota.expect_lost(self, vol.owner, target)
        # If the types differ only in their back ends, the stock driver moves
        # or copies the image to a back end without a data pool.
        if now != vol.kind and _moved_by_stock(former, target):
            vol.unrecorded = True
        vol.kind = now
        vol.flagged = bool(record['multiattach'])
        vol.keys = metadata.ours(record['metadata'])
        if not now.ours and vol.keys:
            self._await_keys_gone(vol)
        kept = (
            vol.keys == keys
            if now != target
            else vol.keys.items() <= (keys.items())
        )
        cloud.require(kept, f'{what}: keys {keys} became {vol.keys}')
        if before:
            vol.bases = [before]
            vol.inherits = False
        if not now.on_ceph:
            vol.filled, vol.bases = None, []

    def _await_keys_gone(self, vol: model.Volume) -> None:
        """Wait until the keys of a volume that left our driver are removed.

        Cinder deletes the former image after it reports the volume as
        available.
        """

        def gone() -> bool:
            answer = self.admin.get(f'/volumes/{vol.ident}/metadata')
            return not metadata.ours(answer.body['metadata'])

        self.until(gone, f'{vol.name} to lose its keys')
        vol.keys = {}

    def _judge_retype(
        self, vol: model.Volume, target: kinds.Kind, policy: str, hidden: bool
    ) -> Verdict:
        if hidden or target == vol.kind:
            return Verdict.REFUSED
        if _converts(vol, target):
            return Verdict.ACCEPTED
        if policy == 'never' or not target.on_ceph or not vol.kind.on_ceph:
            return Verdict.EITHER
        if self.model.snapshots_of(vol.name):
            # Cinder does not migrate a volume with snapshots.
            return Verdict.EITHER
        striping = metadata.pair(target.own)
        fits = not striping or metadata.whole_stripes(striping, vol.size)
        # The volume's project may not use a private type.
        return Verdict.ACCEPTED if fits and target.public else Verdict.EITHER

    @machine.operation(
        lambda known: [v for v in known.on_ceph() if len(v.kind.backends) > 1]
    )
    def migrate(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Migrate a volume to the other back end of its type."""
        copied = rng.random() < 0.6
        yield
        before, here = self.state(vol), vol.backend
        cloud.require(before and here, f'{vol.name} has no image')
        (target,) = (
            kinds.BACKENDS[name]
            for name in vol.kind.backends
            if not here or name != here.name
        )
        body = {'host': target.host, 'force_host_copy': copied}
        answer = self.admin.send(
            'POST',
            f'/volumes/{vol.ident}/action',
            {'os-migrate_volume': body},
        )
        fits = before is not None and before.stripe_count <= target.max_count
        fits = fits and vol.keys.get(_MODE, 'none') in target.cache_modes
        expected = Verdict.ACCEPTED if fits else Verdict.EITHER
        if self.model.snapshots_of(vol.name):
            expected = Verdict.EITHER
        what = f'{vol.name} to {target.host}'
        if not self.judge(answer, expected, what):
            return
        status = self.settle(vol)['migration_status']
        cloud.require(status == 'success' or not fits, f'{what}: {status}')
        vol.bases, vol.inherits = [before] if before else [], True
        # The volume moves unchanged, whatever the limits of the other back end
        # are.
        vol.foreign = vol.foreign or not fits


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


def _moved_by_stock(former: kinds.Backend | None, target: kinds.Kind) -> bool:
    return (
        former is not None
        and not former.ours
        and not target.specs
        and not target.multiattach
    )


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
