# SPDX-License-Identifier: Apache-2.0

"""What is known about a leftover: its image, the trash and the records.

Each fact is read when a rule of :mod:`.leftovers` first asks for it, and only
once, so that all rules judge the same state.
"""

from collections.abc import Callable
import dataclasses
import datetime
import enum
import functools
from typing import Any

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.audit import use
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes

_Owner = names.Owner


class Way(enum.Enum):
    """A method of removal."""

    #: The image goes to the trash, from where it can be restored.
    TRASH = 'move the image to the trash'
    #: The name of an image that is already in the trash.
    FINISH = 'complete the move to the trash'
    #: The image in the trash is deleted, as its deferment has ended.
    PURGE = 'delete the image in the trash'
    #: A snapshot that a service created for its own use, not for a tenant.
    SNAPSHOT = 'delete the snapshot'
    #: The name of an image without header and data.
    NAME = 'delete the name'


@dataclasses.dataclass(frozen=True)
class Proof:
    """What proves that a leftover belongs to this cloud.

    :ivar meaning: for the page
    :ivar given: returns the text for a plan; empty without the proof
    """

    meaning: str
    given: Callable[['Evidence'], str]


@dataclasses.dataclass(frozen=True)
class Obstacle(outcomes.Reason):
    """What must not be.

    :ivar found: returns its details, which can be empty; None without it
    """

    found: Callable[['Evidence'], str | None]

    @classmethod
    def of(
        cls, reason: outcomes.Reason, found: Callable[['Evidence'], str | None]
    ) -> 'Obstacle':
        """Return an obstacle with the texts of a reason."""
        return cls(reason.code, reason.text, reason.remedy, found)


@dataclasses.dataclass(frozen=True)
class Leftover:
    """A kind of leftover.

    :ivar kind: of the finding
    :ivar looks: what it looks like
    :ivar proofs: each of them is enough
    :ivar never: what must not be, in the order in which it is looked at
    :ivar way: how it goes
    :ivar kill: what a kill leaves, and who takes it up
    :ivar source: who moved it to the trash, if it is there
    :ivar states: of its entry in the trash; empty for any
    """

    kind: findings.Kind
    looks: str
    proofs: tuple[Proof, ...]
    never: tuple[Obstacle, ...]
    way: Way
    kill: str
    source: objects.TrashSource = objects.TrashSource.USER
    states: frozenset[objects.TrashState] = frozenset()


@dataclasses.dataclass
class Sources:
    """Where a run looks things up, and the limits of its plan.

    :ivar known: the cloud's records, read after the pools
    :ivar cloud: the APIs at the moment of a call
    :ivar stored: the databases, with deleted records
    :ivar delay: time for which images stay in the trash
    :ivar older_than: minimum time since the last sign of life
    :ivar approved: ``<pool>/<id>`` of the images that the operator listed
    :ivar breaks_locks: whether locks of clients that are gone are broken
    :ivar progress: called with a pool and its number of objects so far
    """

    cluster: scan.Cluster
    known: records.Records
    cloud: records.CloudNow
    stored: databases.Databases
    delay: datetime.timedelta
    older_than: datetime.timedelta
    approved: frozenset[str] = frozenset()
    breaks_locks: bool = False
    now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(
        datetime.timezone.utc
    )
    progress: Callable[[str, int], None] = lambda pool, number: None

    def __post_init__(self) -> None:
        self._owners: dict[str, frozenset[names.Owner]] = {}

    @functools.cached_property
    def inventory(self) -> objects.Inventory:
        """All objects of the cluster, listed once in a run.

        No client can write new data of an image without a header.
        """
        return self.cluster.inventory(self.progress)

    def owners_in(self, ioctx: Any, pool: str) -> frozenset[names.Owner]:
        """Return whose images with a record a pool has."""
        if pool not in self._owners:
            listed = objects.directory(self.cluster.librados, ioctx)
            parsed = map(names.of_image, listed)
            self._owners[pool] = frozenset(
                name.owner
                for name in parsed
                if self.known.has_in(pool, name, self.stored)
            )
        return self._owners[pool]

    def pools_of(self, *backends: str) -> set[str]:
        """Return the Ceph pools of back ends that report one."""
        return {self.known.backends.get(each, '') for each in backends} - {''}

    def has_record(self, name: names.Name) -> bool:
        """Return whether the cloud has an owner at this moment.

        Much time may have passed since the audit, and a list from an API may
        be incomplete.
        """
        known, ident = self.known, name.ident
        if name.owner is _Owner.UNKNOWN:
            return False
        if name.owner is _Owner.BACKUP_IMAGE:
            # Without a snapshot, the image as a whole is a backup.
            return ident in known.backed_up
        if name.owner in (_Owner.BACKUP, _Owner.VOLUME_SNAPSHOT):
            return self.cloud.has_record(name.owner, ident)
        # Names depend on templates: that of a volume may be the bare ID, as
        # that of a Glance image.
        row = self.stored.image(ident)
        return (
            ident in known.volumes
            or any(not row.is_deleted for row in self.stored.volumes(ident))
            or self.cloud.volume(ident) is not None
            or ident in (known.images or ())
            or ident in (known.servers or ())
            or (row is not None and not row.is_deleted)
            or self.cloud.has_record(_Owner.GLANCE_IMAGE, ident)
            or self.cloud.has_record(_Owner.SERVER_DISK, ident)
        )


@dataclasses.dataclass(frozen=True)
class DeletedRecord:
    """What the cloud still knows about a deleted owner.

    :ivar text: empty unless the record names the place of the leftover
    :ivar since: when the cloud deleted the owner, if known
    """

    text: str = ''
    since: datetime.datetime | None = None
    project: str = ''


@dataclasses.dataclass
class Evidence:
    """What is known about one leftover.

    :ivar image: name of the image, with ``@snapshot`` for a snapshot
    :ivar ident: librbd's id of the image when it was found
    :ivar ours: names of the clients of earlier, killed runs
    :ivar is_resumed: whether an earlier run has begun the removal, so that
        the last sign of life may be its own
    """

    sources: Sources
    row: Leftover
    ioctx: Any
    pool: str
    image: str
    ident: str
    ours: frozenset[str] = frozenset()
    is_resumed: bool = False

    def __post_init__(self) -> None:
        self.cluster = self.sources.cluster
        self._in_trash = self.row.way in (Way.FINISH, Way.PURGE)
        self.image_name, _, self.snapshot = self.image.partition('@')
        self.of_image = names.of_image(self.image_name)
        #: The owner of the leftover, a snapshot or an image.
        self.name = (
            names.of_snapshot(self.snapshot)
            if self.snapshot
            else self.of_image
        )

    # What Ceph has

    @functools.cached_property
    def entry(self) -> objects.Trashed | None:
        """Its entry in the trash."""
        return objects.trash_entry(
            self.cluster.librados, self.ioctx, self.pool, self.ident
        )

    @functools.cached_property
    def has_header(self) -> bool:
        """Whether its image has a header."""
        return objects.has_header(
            self.cluster.librados, self.ioctx, self.ident
        )

    @functools.cached_property
    def facts(self) -> images.Image | None:
        """The image as librbd opens it; None for a rest without a header.

        :raises NotRead: without a number if its content ends each process
            that opens it
        """
        is_rest = self.row.way is Way.NAME
        if is_rest or (self._in_trash and not self.has_header):
            return None
        return self.cluster.read(
            *(self.pool, self.image_name),
            ident=self.ident if self._in_trash else '',
            ours=sorted(self.ours),
        )

    @property
    def details(self) -> images.Details:
        """Details of the image; empty for a rest."""
        details = self.facts.details if self.facts else images.Details()
        if details is None:
            raise outcomes.NotVerified('the image was read without details')
        return details

    @property
    def clients(self) -> use.Use:
        """The clients that use it."""
        return self.details.clients

    @property
    def snapshots(self) -> list[images.Snapshot]:
        """The snapshot that it is, or those of the image that it is."""
        return [
            each
            for each in (self.facts.snapshots if self.facts else ())
            if self.snapshot in ('', each.name)
        ]

    @property
    def mark(self) -> str:
        """The owner in the valid mark of its image; empty without one."""
        return self.facts.owner if self.facts else ''

    @functools.cached_property
    def created(self) -> datetime.datetime | None:
        """When its image was created, or got its name if that was later.

        Somebody who restored or renamed an image wants to keep it.
        """
        if not self.details.signs:
            return None
        created = self.details.signs[0]
        if self._in_trash:
            return created
        named = objects.named_at(
            self.cluster.librados, self.ioctx, self.image_name
        )
        return max(created, named or created)

    @property
    def size(self) -> int:
        """Provisioned bytes."""
        if self.snapshot:
            return sum(each.size for each in self.snapshots)
        return self.facts.size if self.facts else 0

    @functools.cached_property
    def last_sign(self) -> datetime.datetime | None:
        """Its last sign of life, or the deletion of its owner if later."""
        signs = [self.record.since, *(each.taken for each in self.snapshots)]
        if self._in_trash and self.entry:
            signs.append(self.entry.moved)
        if not self.snapshot:
            signs += [self.created, *self.details.signs]
        return max(filter(None, signs), default=None)

    # What the cloud has

    @functools.cached_property
    def owners(self) -> frozenset[names.Owner]:
        """Whose images with a record its pool has."""
        return self.sources.owners_in(self.ioctx, self.pool)

    @functools.cached_property
    def recorded(self) -> names.Name | None:
        """An owner of it or of its snapshots that the cloud has."""
        others = (names.of_snapshot(each.name) for each in self.snapshots)
        for each in dict.fromkeys((self.name, *others)):
            if self.sources.has_record(each):
                return each
        return None

    @functools.cached_property
    def volume(self) -> records.Volume | None:
        """The volume whose image it is, or is a snapshot of."""
        ident = self.of_image.ident
        volume = self.sources.known.volumes.get(ident)
        return self.sources.cloud.volume(volume.ident if volume else ident)

    @functools.cached_property
    def is_marking(self) -> bool:
        """Whether the driver would have released a volume's image.

        The stock driver leaves the mark on an image that it unmanages.
        """
        rows = self.sources.stored.volumes(self.of_image.ident)
        marking = self.sources.known.marking
        return not rows or any(marking.intersection(x.backends) for x in rows)

    @property
    def trusted_mark(self) -> str:
        """The mark, unless the image may have been given away with it."""
        is_volume = self.name.owner is _Owner.VOLUME
        return '' if is_volume and not self.is_marking else self.mark

    @functools.cached_property
    def record(self) -> DeletedRecord:
        """The deleted record of its owner."""
        if self.snapshot:
            return self._of_snapshot()
        owner, ident = self.name.owner, self.name.ident
        rows: list[databases.Row] = []
        if owner in (_Owner.VOLUME, _Owner.DELETED_SOURCE):
            rows = self.sources.stored.volumes(ident)
        elif owner is _Owner.GLANCE_IMAGE:
            rows = list(filter(None, [self.sources.stored.image(ident)]))
        elif owner is _Owner.SERVER_DISK:
            since = self.sources.cloud.server_deleted(ident)
            is_here = since and owner in self.owners
            return DeletedRecord(self._text() if is_here else '', since)
        for row in rows:
            if row.is_deleted:
                # Without its time, nothing shows that the image is older.
                is_proof = row.deleted_at and self._is_place(row)
                return DeletedRecord(
                    self._text() if is_proof else '',
                    row.deleted_at,
                    row.project,
                )
        return DeletedRecord()

    @functools.cached_property
    def proof(self) -> str:
        """The first proof of the row, as text; empty without one."""
        proofs = (each.given(self) for each in self.row.proofs)
        return next(filter(None, proofs), '')

    def _text(self) -> str:
        owner = self.name.owner
        # The image of a deleted source has the name of its volume.
        word = _Owner.VOLUME if owner is _Owner.DELETED_SOURCE else owner
        return f'deleted record of {word.value} {self.name.ident}'

    def _is_place(self, row: databases.Row) -> bool:
        """Return whether a record of an image names its pool."""
        if self.name.owner is _Owner.GLANCE_IMAGE:
            return self.pool in records.pools_of_image(
                row.locations, self.sources.known.cluster, self.name.ident
            )
        # Cinder's record of an unmanaged volume is that of a deleted one. Our
        # driver marks an image that it unmanages.
        return self.pool in self.sources.pools_of(*row.backends) and (
            self.name.owner is not _Owner.VOLUME or row.has_record
        )

    def _of_snapshot(self) -> DeletedRecord:
        stored, image = self.sources.stored, self.of_image
        is_backup = self.name.owner is _Owner.BACKUP
        backup = stored.backup(self.name.ident) if is_backup else None
        # A copy of a pool has images of the same names.
        if image.owner is _Owner.BACKUP_IMAGE:
            is_here = backup is not None and backup.container == self.pool
        else:
            # Cinder's record of an unmanaged volume is that of a deleted one.
            is_here = any(
                self.pool in self.sources.pools_of(*row.backends)
                and not (row.is_deleted and image.owner is _Owner.VOLUME)
                for row in stored.volumes(image.ident)
            )
        if is_backup:
            rows = [backup] if backup and backup.volume == image.ident else []
        else:
            rows = stored.volumes(self.name.ident)
        for row in rows if is_here else ():
            if row.is_deleted and row.deleted_at:
                return DeletedRecord(self._text(), row.deleted_at, row.project)
        return DeletedRecord()
