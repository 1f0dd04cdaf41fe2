# SPDX-License-Identifier: Apache-2.0

"""Proof that a leftover belonged to this cloud.

There are three kinds of proof: the cloud's own records know the owner as
deleted, the image has the mark of the cloud, or the operator listed the image
by its ID. A name proves nothing: clouds share pools, and administrators copy
images.
"""

from collections.abc import Iterator
import dataclasses
import datetime
from typing import Protocol

from rbd_operator.audit import images
from rbd_operator.audit import names
from rbd_operator.audit import records
from rbd_operator.audit import scan
from rbd_operator.maintenance import databases
from rbd_operator.maintenance import outcomes
from rbd_volume_options import ownership

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
FOREIGN_POOL = outcomes.Reason(
    'foreign-pool',
    'the pool has no image that the cloud has a record of',
    'Check the pool and the credentials; remove the image by hand.',
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


def unmarked(
    scanned: scan.PoolScan, known: records.Records
) -> Iterator[images.Image]:
    """Yield the images of this cloud's resources that lack its mark.

    An image with the mark of another cloud is left alone.
    """
    there = {
        _Owner.GLANCE_IMAGE: known.images or frozenset(),
        _Owner.SERVER_DISK: known.servers or frozenset(),
    }
    for image in scanned.found:
        name = names.of_image(image.name)
        if name.owner is _Owner.VOLUME:
            volume = known.volumes.get(name.ident)
            backend = volume.pool if volume else ''
            is_ours = known.backends.get(backend) == scanned.pool
        else:
            is_ours = name.ident in there.get(name.owner, ())
        if is_ours and image.owner in ('', ownership.RELEASED):
            yield image


@dataclasses.dataclass(frozen=True)
class Proof:
    """Why a leftover belongs to this cloud.

    :ivar since: when the cloud deleted its owner, if known
    """

    text: str
    since: datetime.datetime | None = None
    project: str = ''


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
        idents = {
            _Owner.GLANCE_IMAGE: self.known.images or frozenset(),
            _Owner.SERVER_DISK: self.known.servers or frozenset(),
            _Owner.BACKUP_IMAGE: self.known.backed_up,
        }
        for image_name in image_names:
            name = names.of_image(image_name)
            if name.owner is _Owner.VOLUME:
                volume = self.known.volumes.get(name.ident)
                if volume and self._pool_of(volume.pool) == pool:
                    owners.add(name.owner)
            elif name.ident in idents.get(name.owner, ()):
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
        if name.owner in (_Owner.UNKNOWN, _Owner.BACKUP_IMAGE):
            return False
        if name.owner in (_Owner.RETYPE_COPY, _Owner.RETYPED_SOURCE):
            volume = self.cloud.volume(name.ident)
            return volume is not None and volume.status == 'retyping'
        if name.owner in (_Owner.VOLUME, _Owner.DELETED_SOURCE, _Owner.CLONE):
            return (
                name.ident in self.known.volumes
                or any(
                    not row.is_deleted
                    for row in self.stored.volumes(name.ident)
                )
                or self.cloud.volume(name.ident) is not None
            )
        return self.cloud.has_record(name.owner, name.ident)

    def proof(
        self,
        pool: str,
        ident: str,
        name: names.Name,
        owner: str,
        owners: set[names.Owner],
    ) -> Proof:
        """Return the proof that an image belongs to this cloud.

        :param name: the name of the image
        :param owner: the owner in its valid mark; empty without one
        :param owners: the result of :meth:`owners_in`
        :raises Refused: without a proof
        """
        if not owners:
            raise outcomes.Refused(FOREIGN_POOL)
        ours = self.known.cloud_id
        if owner and owner not in (ours, ownership.RELEASED):
            raise outcomes.Refused(FOREIGN, owner)
        record = self._of_record(pool, ident, name, owners)
        if f'{pool}/{ident}' in self.approved:
            return Proof(APPROVED, *record[1:])
        if owner == ownership.RELEASED:
            raise outcomes.Refused(RELEASED)
        if owner and owner == ours:
            return Proof(f'mark of the cloud {ours}', *record[1:])
        if not record[0]:
            raise outcomes.Refused(UNKNOWN)
        return Proof(*record)

    def _of_record(
        self, pool: str, ident: str, name: names.Name, owners: set[names.Owner]
    ) -> tuple[str, datetime.datetime | None, str]:
        """Return proof, time of the deletion and project, if recorded."""
        word = f'deleted record of {name.owner.value} {name.ident}'
        if name.owner in _OF_VOLUMES:
            return self._of_volume(pool, ident, name)
        if name.owner is _Owner.GLANCE_IMAGE:
            row = self.stored.image(name.ident)
            if row and row.is_deleted:
                there = any(
                    url.split('/')[3:5] == [pool, name.ident]
                    for url in row.locations
                )
                return word if there else '', row.deleted_at, row.project
        if name.owner is _Owner.SERVER_DISK:
            # Nova does not tell in which pool the disk was.
            since = self.cloud.server_deleted(name.ident)
            if since and name.owner in owners:
                return word, since, ''
        return '', None, ''

    def _of_volume(
        self, pool: str, ident: str, name: names.Name
    ) -> tuple[str, datetime.datetime | None, str]:
        for row in self.stored.volumes(name.ident):
            if not row.is_deleted:
                continue
            is_here = pool in map(self._pool_of, row.backends)
            # Cinder's record of an unmanaged volume is that of a deleted one.
            # Our driver marks an image that it unmanages.
            is_proof = is_here and (
                name.owner is not _Owner.VOLUME or row.has_record
            )
            text = f'deleted record of volume {name.ident}'
            return text if is_proof else '', row.deleted_at, row.project
        if name.owner in (_Owner.RETYPE_COPY, _Owner.RETYPED_SOURCE):
            volume = self.cloud.volume(name.ident)
            if volume and self._pool_of(volume.pool) == pool:
                return f'record of volume {name.ident}', None, volume.project
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
        rows: list[databases.Row] = []
        if name.owner is _Owner.BACKUP:
            row = self.stored.backup(name.ident)
            rows = [row] if row and row.volume == image.ident else []
        elif any(
            pool in map(self._pool_of, row.backends)
            for row in self.stored.volumes(image.ident)
        ):
            rows = self.stored.volumes(name.ident)
        for each in rows:
            if each.is_deleted:
                return Proof(
                    f'deleted record of {name.owner.value} {name.ident}',
                    each.deleted_at,
                    each.project,
                )
        raise outcomes.Refused(UNKNOWN)


_OF_VOLUMES = frozenset(
    {
        _Owner.VOLUME,
        _Owner.DELETED_SOURCE,
        _Owner.RETYPE_COPY,
        _Owner.RETYPED_SOURCE,
    }
)
