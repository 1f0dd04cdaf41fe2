# SPDX-License-Identifier: Apache-2.0

"""A sequence: all operations, the checks after each, and the end."""

from __future__ import annotations

import random

from tests.life import attaching
from tests.life import changing
from tests.life import copying
from tests.life import creating
from tests.life import invariants
from tests.life import leftovers
from tests.life import model
from tests.life import owning
from tests.life import purge
from tests.life import removing
from tests.life import specs


class Sequence(
    creating.Creating,
    changing.Changing,
    copying.Copying,
    attaching.Attaching,
    owning.Owning,
    removing.Removing,
    specs.Specs,
):
    """A state machine with all operations."""

    def check(self, used: set[str]) -> None:
        """Check all conditions, after operations on these resources."""
        invariants.check(self, used)

    def delete_all(self) -> None:
        """Delete all resources as their owners, in random order."""
        known = self.model
        for offer in list(known.transfers.values()):
            self.cancel(offer)
        for vol in list(known.volumes.values()):
            for name in list(vol.attachments):
                self.remove_attachment(vol, name)
        entries: list[removing.Entry | model.Volume] = [
            *known.snapshots.values(),
            *known.backups.values(),
            *known.images.values(),
            *known.volumes.values(),
        ]
        random.Random(len(self.told)).shuffle(entries)
        # A volume can be deleted only after its snapshots.
        entries.sort(key=lambda each: bool(known.snapshots_of(each.name)))
        for entry in entries:
            if isinstance(entry, model.Volume):
                self.delete_volume(entry)
            else:
                self.delete_entry(entry)
        for stray in list(known.strays.values()):
            self.cluster.remove(stray.backend.pool, stray.image)
            del known.strays[stray.name]

    def check_left(self, idents: set[str]) -> None:
        """Check that nothing is left of resources with these IDs."""
        leftovers.check(self, idents)

    def purge(self) -> None:
        """Remove what a failed sequence left."""
        try:
            purge.sequence(self)
        except Exception as error:
            self.tell(f'cannot clean up: {error!r}')
