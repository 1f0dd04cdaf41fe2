# SPDX-License-Identifier: Apache-2.0

"""Operations that delete."""

from __future__ import annotations

import random

from tests.life import machine
from tests.life import metadata
from tests.life import model

Verdict = metadata.Verdict
Entry = model.Snapshot | model.Backup | model.Image


def _others(known: model.Model) -> list[Entry]:
    return [
        *known.snapshots.values(),
        *known.backups.values(),
        *known.images.values(),
    ]


class Removing(machine.Machine):
    """Deletions."""

    @machine.operation(lambda known: known.volumes.values())
    def delete(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Delete a volume, which may be busy."""
        yield
        self.delete_volume(vol)

    @machine.operation(_others)
    def delete_other(
        self, rng: random.Random, entry: Entry
    ) -> machine.Operation:
        """Delete a snapshot, a backup or an image."""
        yield
        self.delete_entry(entry)

    def delete_volume(self, vol: model.Volume) -> None:
        """Delete a volume; it has to be refused if the volume is busy."""
        caller = self.callers[vol.owner]
        answer = caller.send('DELETE', f'/volumes/{vol.ident}')
        busy = (
            vol.status not in ('available', 'error')
            or self.model.offered(vol.name)
            or bool(self.model.snapshots_of(vol.name))
        )
        expected = Verdict.REFUSED if busy else Verdict.ACCEPTED
        if self.judge(answer, expected, f'delete {vol.name}'):
            self.await_gone(f'/volumes/{vol.ident}')
            del self.model.volumes[vol.name]

    def delete_entry(self, entry: Entry) -> None:
        """Delete a snapshot, a backup or an image."""
        kind = f'{type(entry).__name__.lower()}s'
        service = 'image' if kind == 'images' else 'block_storage'
        path = f'/{kind}/{entry.ident}'
        caller = self.callers[entry.owner]
        answer = caller.send('DELETE', path, service=service)
        self.judge(answer, Verdict.ACCEPTED, f'delete {entry.name}')
        self.await_gone(path, service)
        del getattr(self.model, kind)[entry.name]
