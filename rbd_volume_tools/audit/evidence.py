# SPDX-License-Identifier: Apache-2.0

"""Proof that a leftover belonged to this cloud.

There are three kinds of proof: the cloud's own records know the owner as
deleted, the image has the mark of the cloud, or the operator listed the image
by its ID. A name proves nothing: clouds share pools, and administrators copy
images.
"""

import collections
from collections.abc import Iterable
import dataclasses
import datetime
import enum
from typing import Protocol

from rbd_volume_options import ownership
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes

UNKNOWN = outcomes.Reason(
    'owner-unknown',
    'nothing proves that it belongs to this cloud',
    'If it does, list <pool>/<id> in the file of --approve, or give '
    '--cinder-config and --glance-config.',
)
FOREIGN = outcomes.Reason(
    'image-of-another-cloud',
    'its mark names another cloud',
    'Leave it to that cloud.',
)
RELEASED = outcomes.Reason(
    'unmanaged',
    'the cloud has given the image away',
    'Ask who unmanaged the volume. List <pool>/<id> in the file of --approve '
    'to remove it.',
)
NEVER_RECORDED = outcomes.Reason(
    'never-recorded',
    'it has the mark of the cloud, but no record of its owner was found, nor '
    'of the time of its deletion',
    'Give --cinder-config and --glance-config. If a database was restored '
    'from a dump, recover the record. If old records were purged or archived, '
    'list <pool>/<id> in the file of --approve.',
)
LATER = outcomes.Reason(
    'later-than-deletion',
    'it was created, renamed or restored from the trash after its owner was '
    'deleted',
    'Find out who did it. List <pool>/<id> in the file of --approve to remove '
    'it.',
)
FOREIGN_POOL = outcomes.Reason(
    'foreign-pool',
    'the pool has no image that the cloud has a record of',
    'Check the pool and the credentials. For a pool of Glance, give '
    '--glance-config. Otherwise, remove the image by hand.',
)
RECORDED = outcomes.Reason(
    'recorded',
    'the cloud has a record of its owner',
    'Run the audit again.',
)
#: The proof of an image that the operator listed.
APPROVED = 'listed by the operator'

_Owner = names.Owner


class Cloud(Protocol):
    """The APIs of the cloud, at the moment of the call."""

    def has_record(self, owner: names.Owner, ident: str) -> bool:
        """Return whether the cloud has a resource."""

    def volume(self, ident: str) -> records.Volume | None:
        """Return a volume; None if there is none."""

    def server_deleted(self, ident: str) -> datetime.datetime | None:
        """Return when a server was deleted; None if that is not known."""


def copied_disks(scanned: Iterable[images.Image]) -> frozenset[str]:
    """Return the names of the disks of servers that several pools have.

    Nova does not tell which of them is the disk, and which is a copy.
    """
    numbers = collections.Counter(
        image.name
        for image in scanned
        if names.of_image(image.name).owner is _Owner.SERVER_DISK
    )
    return frozenset(name for name, number in numbers.items() if number > 1)


def pools_of_image(
    known: records.Records, stored: databases.Databases, ident: str
) -> frozenset[str]:
    """Return the pools of this cluster that have the data of a Glance image.

    The API shows the locations if Glance is configured so; the database has
    them in any case.
    """
    if ident not in (known.images or ()):
        return frozenset()
    if pools := known.located.get(ident):
        return pools
    row = stored.image(ident)
    if row is None or row.is_deleted:
        return frozenset()
    return records.pools_of_image(row.locations, known.cluster, ident)


class How(enum.Enum):
    """What proves that a leftover belongs to this cloud."""

    RECORD = 'a deleted record that names the place'
    MARK = 'the mark of the cloud, and a deleted record'
    APPROVAL = 'the approval of an operator'


@dataclasses.dataclass(frozen=True)
class Proof:
    """Why a leftover belongs to this cloud.

    :ivar since: when the cloud deleted its owner, if known
    """

    text: str
    since: datetime.datetime | None = None
    project: str = ''
    how: How = How.RECORD


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known about the owners of images.

    :ivar known: the cloud's records, read after the pools
    :ivar stored: the databases, with deleted records
    :ivar approved: ``<pool>/<id>`` of the images that the operator listed
    """

    known: records.Records
    cloud: Cloud
    stored: databases.Databases
    approved: frozenset[str] = frozenset()

    def owners_in(self, pool: str, image_names: set[str]) -> set[names.Owner]:
        """Return whose images with a record a pool has."""
        owners: set[names.Owner] = set()
        for image_name in image_names:
            name = names.of_image(image_name)
            if name.owner in owners:
                continue
            if name.owner is _Owner.VOLUME:
                volume = self.known.volumes.get(name.ident)
                backend = volume.pool if volume else ''
                is_ours = self._pool_of(backend) == pool
            elif name.owner is _Owner.GLANCE_IMAGE:
                pools = pools_of_image(self.known, self.stored, name.ident)
                is_ours = pool in pools
            else:
                recorded = getattr(self.known, name.owner.recorded or '', ())
                is_ours = name.ident in (recorded or ())
            if is_ours:
                owners.add(name.owner)
        return owners

    def _pool_of(self, backend: str) -> str:
        return self.known.backends.get(backend, '')

    def require_no_record(self, name: names.Name) -> None:
        """Check that the cloud has no record of an owner at this moment.

        Much time may have passed since the audit, and a list from an API may
        be incomplete.

        :raises Refused: if the cloud has a record
        """
        if self._has_record(name):
            raise outcomes.Refused(
                RECORDED, f'{name.owner.value} {name.ident}'
            )

    def _has_record(self, name: names.Name) -> bool:
        if name.owner is _Owner.UNKNOWN:
            return False
        if name.owner is _Owner.BACKUP_IMAGE:
            # Without a snapshot, the image as a whole is a backup.
            return name.ident in self.known.backed_up
        if name.owner in (_Owner.BACKUP, _Owner.VOLUME_SNAPSHOT):
            return self.cloud.has_record(name.owner, name.ident)
        # Names depend on templates: that of a volume may be the bare ID, as
        # that of a Glance image.
        row = self.stored.image(name.ident)
        return (
            self._has_volume(name.ident)
            or name.ident in (self.known.images or ())
            or name.ident in (self.known.servers or ())
            or (row is not None and not row.is_deleted)
            or self.cloud.has_record(_Owner.GLANCE_IMAGE, name.ident)
            or self.cloud.has_record(_Owner.SERVER_DISK, name.ident)
        )

    def _has_volume(self, ident: str) -> bool:
        """Return whether the cloud has a volume.

        :param ident: the ID of the volume, or that in the name of its image
        """
        return (
            ident in self.known.volumes
            or any(not row.is_deleted for row in self.stored.volumes(ident))
            or self.cloud.volume(ident) is not None
        )

    def volume(self, ident: str) -> records.Volume | None:
        """Return a volume by the ID in the name of its image."""
        volume = self.known.volumes.get(ident)
        return self.cloud.volume(volume.ident if volume else ident)

    def proof(
        self,
        pool: str,
        ident: str,
        name: names.Name,
        owner: str,
        owners: set[names.Owner],
        created: datetime.datetime | None = None,
    ) -> Proof:
        """Return the proof that an image belongs to this cloud.

        :param name: the name of the image
        :param owner: the owner in its valid mark; empty without one
        :param owners: the result of :meth:`owners_in`
        :param created: when it was created, renamed or restored; None if it
            has no header
        :raises Refused: without a proof
        """
        if not owners:
            raise outcomes.Refused(FOREIGN_POOL)
        ours = self.known.cloud_id
        if owner and owner not in (ours, ownership.RELEASED):
            raise outcomes.Refused(FOREIGN, owner)
        text, since, project = self._of_record(pool, name, owners)
        if created and name.owner is _Owner.SERVER_DISK:
            # Nova does not tell in which pool the disk was; the mark does.
            text = ''
        if f'{pool}/{ident}' in self.approved:
            return Proof(APPROVED, since, project, How.APPROVAL)
        if owner == ownership.RELEASED:
            raise outcomes.Refused(RELEASED)
        if name.owner is _Owner.VOLUME:
            is_marking = self._is_marking(name.ident)
            owner = owner if is_marking else ''
            # The database keeps our record of a volume that the stock driver
            # has unmanaged since.
            if created and not (is_marking and owner == ours):
                text = ''
        # Somebody may have restored the image, or have given another one its
        # name, after the deletion.
        is_later = bool(created and since and created > since)
        if is_later and (text or owner):
            raise outcomes.Refused(LATER, f'{created:%Y-%m-%d %H:%M} UTC')
        if text:
            return Proof(text, since, project)
        if not owner:
            raise outcomes.Refused(UNKNOWN)
        # A database that was restored from a dump lacks the owners of all
        # images that were created since. Their marks are valid.
        if not since:
            raise outcomes.Refused(NEVER_RECORDED)
        return Proof(
            f'mark of the cloud {ours}, deleted record',
            *(since, project, How.MARK),
        )

    def _is_marking(self, ident: str) -> bool:
        """Return whether the driver would have released a volume's image.

        The stock driver leaves the mark on an image that it unmanages.
        """
        rows = self.stored.volumes(ident)
        return not rows or any(
            self.known.marking.intersection(row.backends) for row in rows
        )

    def _of_record(
        self, pool: str, name: names.Name, owners: set[names.Owner]
    ) -> tuple[str, datetime.datetime | None, str]:
        """Return proof, time of the deletion and project, if recorded."""
        word = f'deleted record of {name.owner.value} {name.ident}'
        if name.owner in (_Owner.VOLUME, _Owner.DELETED_SOURCE):
            return self._of_volume(pool, name)
        if name.owner is _Owner.GLANCE_IMAGE:
            row = self.stored.image(name.ident)
            if row and row.is_deleted:
                pools = records.pools_of_image(
                    row.locations, self.known.cluster, name.ident
                )
                is_proof = pool in pools and row.deleted_at
                return word if is_proof else '', row.deleted_at, row.project
        if name.owner is _Owner.SERVER_DISK:
            since = self.cloud.server_deleted(name.ident)
            return word if since and name.owner in owners else '', since, ''
        return '', None, ''

    def _of_volume(
        self, pool: str, name: names.Name
    ) -> tuple[str, datetime.datetime | None, str]:
        for row in self.stored.volumes(name.ident):
            if not row.is_deleted:
                continue
            is_here = pool in map(self._pool_of, row.backends)
            # Cinder's record of an unmanaged volume is that of a deleted one.
            # Our driver marks an image that it unmanages.
            # Without its time, nothing shows that the image is older.
            is_proof = (
                is_here
                and row.deleted_at
                and (name.owner is not _Owner.VOLUME or row.has_record)
            )
            text = f'deleted record of volume {name.ident}'
            return text if is_proof else '', row.deleted_at, row.project
        return '', None, ''

    def proof_of_snapshot(
        self,
        pool: str,
        image: names.Name,
        name: names.Name,
        owners: set[names.Owner],
    ) -> Proof:
        """Return the proof that the cloud has deleted a snapshot's owner.

        There is no trash for snapshots: neither a mark nor the operator's
        list is enough.

        :param image: the name of the image
        :param name: the name of the snapshot
        :raises Refused: without a proof
        """
        if not owners:
            raise outcomes.Refused(FOREIGN_POOL)
        backup = self.stored.backup(name.ident)
        # A copy of a pool has images of the same names.
        if image.owner is _Owner.BACKUP_IMAGE:
            is_here = backup is not None and backup.container == pool
        else:
            # Cinder's record of an unmanaged volume is that of a deleted one.
            is_here = any(
                pool in map(self._pool_of, row.backends)
                and not (row.is_deleted and image.owner is _Owner.VOLUME)
                for row in self.stored.volumes(image.ident)
            )
        if name.owner is not _Owner.BACKUP:
            rows = self.stored.volumes(name.ident)
        else:
            rows = [backup] if backup and backup.volume == image.ident else []
        for each in rows if is_here else ():
            if each.is_deleted and each.deleted_at:
                return Proof(
                    f'deleted record of {name.owner.value} {name.ident}',
                    each.deleted_at,
                    each.project,
                )
        raise outcomes.Refused(UNKNOWN)
