# SPDX-License-Identifier: Apache-2.0

"""Operations that create volumes, empty or from any source."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import random

from tests.life import cloud
from tests.life import content
from tests.life import kinds
from tests.life import machine
from tests.life import metadata
from tests.life import model
from tests.life import state as states

Verdict = metadata.Verdict

#: Probability that a request names the private type, which tenants cannot see.
_PRIVATE = 0.05
_FAKE = 0.08


@dataclasses.dataclass
class _New:
    """A volume to request."""

    name: str
    owner: str
    kind: kinds.Kind
    size: int
    keys: metadata.Keys


def _drawn_kind(rng: random.Random) -> kinds.Kind:
    chance = rng.random()
    if chance < _PRIVATE:
        return kinds.by_name()['private']
    if chance < _PRIVATE + _FAKE:
        return kinds.by_name()['fake']
    return rng.choice([k for k in kinds.public() if k.on_ceph])


def _is_copied(source: model.Volume | model.Snapshot) -> bool:
    """Return whether a source is copied.

    The stock RBD driver leaves ``*.deleted`` images of copied volumes behind.
    """
    return source.kind.ours or not source.kind.on_ceph


class Creating(machine.Machine):
    """Creations of volumes."""

    def _drawn(
        self,
        rng: random.Random,
        source: model.Volume | model.Snapshot | model.Backup | None = None,
    ) -> _New:
        owner = source.owner if source else rng.choice('ab')
        size = max(rng.choice((1, 1, 1, 2, 3)), source.size if source else 1)
        kind, keys = _drawn_kind(rng), metadata.drawn(rng)
        if isinstance(source, model.Volume | model.Snapshot):
            # A copy has the type of its source, or one of its back end.
            special = kind.name in ('fake', 'private')
            if rng.random() < 0.3 or not source.kind.on_ceph:
                kind = source.kind
            elif not special:
                backends = source.kind.backends
                kind = rng.choice(
                    [k for k in kinds.public() if k.backends == backends]
                )
        return _New(self.name('v'), owner, kind, size, keys)

    @machine.operation(first=True)
    def begin(self, rng: random.Random) -> machine.Operation:
        """Create the first volume."""
        new = self._drawn(rng)
        yield
        self._create(new, {}, {})

    @machine.operation()
    def create(self, rng: random.Random) -> machine.Operation:
        """Create an empty volume."""
        new = self._drawn(rng)
        yield
        self._create(new, {}, {})

    @machine.operation()
    def create_from_image(self, rng: random.Random) -> machine.Operation:
        """Create a volume from a Glance image."""
        new, image = self._drawn(rng), self.image
        # Back ends other than RBD cannot write an image.
        if not new.kind.on_ceph:
            new.kind = kinds.by_name()['plain']
        images = self.free(self.model.images.values(), reads=True)
        mine = [each for each in images if each.owner == new.owner]
        if mine and rng.random() < 0.7:
            image = self.use(rng.choice(mine), reads=True)
            new.size = max(new.size, image.size)
        yield
        self._create(new, {'imageRef': image.ident}, image.filled)

    @machine.operation(
        lambda known: filter(_is_copied, known.snapshots.values()), reads=True
    )
    def create_from_snapshot(
        self, rng: random.Random, source: model.Snapshot
    ) -> machine.Operation:
        """Create a volume from a snapshot."""
        new = self._drawn(rng, source)
        yield
        self._copy(new, {'snapshot_id': source.ident}, source, source.state)

    @machine.operation(
        lambda known: filter(_is_copied, known.usable()), reads=True
    )
    def clone(
        self, rng: random.Random, source: model.Volume
    ) -> machine.Operation:
        """Create a volume from a volume."""
        new = self._drawn(rng, source)
        yield
        state = self.state(source)
        self._copy(new, {'source_volid': source.ident}, source, state)

    def _copy(
        self,
        new: _New,
        body: cloud.Record,
        source: model.Volume | model.Snapshot,
        state: states.State | None,
    ) -> None:
        made = self._create(new, body, source.filled, state, source.kind)
        if made:
            made.foreign = source.foreign

    @machine.operation(lambda known: known.backups.values())
    def create_from_backup(
        self, rng: random.Random, source: model.Backup
    ) -> machine.Operation:
        """Create a volume from a backup."""
        new = self._drawn(rng, source)
        if not new.kind.on_ceph:
            new.kind = kinds.by_name()['plain']
        yield
        made = self._create(new, {'backup_id': source.ident}, source.filled)
        if not made:
            return
        # Keys of the backup may remain if no others were requested.
        answer = self.admin.get(f'/volumes/{made.ident}')
        now = metadata.ours(answer.body['volume']['metadata'])
        cloud.require(
            made.keys.items() <= now.items(),
            f'keys of {made.name} are lost: {made.keys}, now {now}',
        )
        made.keys = now
        self.settle_other(f'/backups/{source.ident}')

    def _create(
        self,
        new: _New,
        body: cloud.Record,
        filled: content.Content | None,
        state: states.State | None = None,
        source: kinds.Kind | None = None,
    ) -> model.Volume | None:
        request = {
            'name': new.name,
            'size': new.size,
            'volume_type': self.type_name(new.kind),
            'metadata': new.keys,
            **body,
        }
        caller = self.callers[new.owner]
        answer = caller.send('POST', '/volumes', {'volume': request})
        if not new.kind.public:
            check_undisclosed(answer.text, new.keys.values())
        expected = _expected(new, source, state)
        if not self.judge(answer, expected, f'{new}'):
            return None
        volume = model.Volume(
            new.name,
            answer.body['volume']['id'],
            new.owner,
            new.kind,
            new.size,
            metadata.ours(new.keys),
            dict(filled) if filled is not None and new.kind.on_ceph else None,
            bases=[state] if state else [],
        )
        self.model.volumes[new.name] = volume
        self.settle(volume)
        return volume


def _expected(
    new: _New, source: kinds.Kind | None, state: states.State | None
) -> Verdict:
    verdict = metadata.judge(
        new.keys, new.kind, new.size, from_source=state is not None
    )
    if verdict is Verdict.ACCEPTED and source and source != new.kind:
        # Cinder has its own rules for the types of copies.
        same = source.backends == new.kind.backends
        if not same or source.multiattach or new.kind.multiattach:
            return Verdict.EITHER
    return verdict


def check_undisclosed(text: str, repeated: Iterable[str] = ()) -> None:
    """Check that an answer does not disclose the private type's specs.

    :param repeated: values in the request, which a refusal repeats
    """
    for word in ('volumes-data', '16K', '16 KiB', 'x 7'):
        is_disclosed = word in text and not any(word in e for e in repeated)
        cloud.require(not is_disclosed, f'the private type is told: {text}')
