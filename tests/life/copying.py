# SPDX-License-Identifier: Apache-2.0

"""Operations on the content of volumes: written, copied or restored."""

from __future__ import annotations

import random

from tests.life import cloud
from tests.life import content
from tests.life import machine
from tests.life import metadata
from tests.life import model

Verdict = metadata.Verdict


def _copied(known: model.Model) -> list[model.Volume]:
    # Use 1 GiB only, because larger volumes take long.
    return [v for v in known.filled() if v.size == 1 and v.owner in 'ab']


def _restorable(known: model.Model) -> list[model.Backup]:
    owners = {each.owner for each in known.filled()}
    return [b for b in known.backups.values() if b.owner in owners]


class Copying(machine.Machine):
    """Writes, snapshots, backups and Glance images."""

    @machine.operation(model.Model.filled)
    def write(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Write blocks to an RBD image, as an operator."""
        blocks = content.drawn(rng, vol.size)
        yield
        if vol.backend and vol.filled is not None:
            self.cluster.write(vol.backend.pool, vol.image, blocks)
            vol.filled.update(blocks)
            self.tell(f'operator: {len(blocks)} blocks into {vol.name}')

    @machine.operation(model.Model.usable, reads=True)
    def snapshot(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Create a snapshot, perhaps with a misspelled key."""
        new, keys = self.name('s'), {}
        if rng.random() < 0.15:
            keys[metadata.misspelled(rng)] = '4'
        yield
        body = {'volume_id': vol.ident, 'name': new, 'metadata': keys}
        caller = self.callers[vol.owner]
        answer = caller.send('POST', '/snapshots', {'snapshot': body})
        expected = Verdict.REFUSED if keys else Verdict.ACCEPTED
        if not keys and self.model.offered(vol.name):
            expected = Verdict.EITHER
        if not self.judge(answer, expected, f'{new} of {vol.name}'):
            return
        ident = answer.body['snapshot']['id']
        self.model.snapshots[new] = model.Snapshot(
            new,
            ident,
            vol.name,
            vol.size,
            vol.known_content(),
            self.state(vol),
            vol.kind,
            vol.owner,
            vol.foreign,
        )
        self.settle_other(f'/snapshots/{ident}')

    @machine.operation(
        lambda known: [
            v for v in known.on_ceph() if known.snapshots_of(v.name)
        ]
    )
    def revert(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Revert a volume to its newest snapshot."""
        source = self.model.snapshots_of(vol.name)[-1]
        yield
        answer = self.callers[vol.owner].send(
            'POST',
            f'/volumes/{vol.ident}/action',
            {'revert': {'snapshot_id': source.ident}},
        )
        same = source.size == vol.size
        expected = Verdict.ACCEPTED if same else Verdict.REFUSED
        if self.model.offered(vol.name):
            expected = Verdict.EITHER
        if self.judge(answer, expected, f'{vol.name} to {source.name}'):
            self.settle(vol)
            vol.filled = source.known_content()
            self.settle_other(f'/snapshots/{source.ident}')

    @machine.operation(_copied)
    def backup(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Back up a volume."""
        new = self.name('b')
        yield
        body = {'volume_id': vol.ident, 'name': new}
        caller = self.callers[vol.owner]
        answer = caller.send('POST', '/backups', {'backup': body})
        if not self.judge(answer, Verdict.EITHER, f'{new} of {vol.name}'):
            return
        ident = answer.body['backup']['id']
        self.model.backups[new] = model.Backup(
            new,
            ident,
            vol.owner,
            vol.size,
            vol.known_content(),
            dict(vol.keys),
        )
        self.settle_other(f'/backups/{ident}')
        self.settle(vol)

    @machine.operation(_restorable)
    def restore(
        self, rng: random.Random, source: model.Backup
    ) -> machine.Operation:
        """Restore a backup to a volume."""
        free = self.free(self.model.filled())
        volumes = [v for v in free if v.owner == source.owner]
        if not volumes:
            return
        vol = self.use(rng.choice(volumes))
        yield
        answer = self.callers[source.owner].send(
            'POST',
            f'/backups/{source.ident}/restore',
            {'restore': {'volume_id': vol.ident}},
        )
        what = f'{source.name} into {vol.name}'
        if not self.judge(answer, Verdict.EITHER, what):
            return
        record = self.settle(vol)
        self.settle_other(f'/backups/{source.ident}')
        if vol.filled is not None and source.filled is not None:
            vol.filled = content.restored(
                vol.filled, source.filled, source.size
            )
        else:
            vol.filled = None
        now = metadata.ours(record['metadata'])
        cloud.require(
            vol.keys.items() <= now.items(),
            f'keys of {vol.name} are lost: {vol.keys}, now {now}',
        )
        vol.keys = now

    @machine.operation(_copied)
    def upload(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Upload a volume to a Glance image."""
        new = self.name('i')
        yield
        caller = self.callers[vol.owner]
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
        if not self.judge(answer, Verdict.EITHER, f'{new} of {vol.name}'):
            return
        ident = answer.body['os-volume_upload_image']['image_id']
        self.settle(vol)
        filled = vol.known_content()
        image = model.Image(new, ident, vol.owner, vol.size, filled)
        self.model.images[new] = image
        status = caller.get(f'/images/{ident}', 'image').body.get('status')
        cloud.require(status == 'active', f'{new} of {vol.name} is {status}')
        digests = self.cluster.content('images', ident)
        cloud.require(
            filled is None or digests == content.digests(filled),
            f'the content of {new} is not that of {vol.name}',
        )
