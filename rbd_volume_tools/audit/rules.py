# SPDX-License-Identifier: Apache-2.0

"""Rules that derive findings from facts and records."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import datetime
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import sizes
from rbd_volume_tools.audit import configuration
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan

#: Number of objects from which the deletion of an image without a valid map is
#: reported as slow. On a cluster with one OSD, it took about two minutes.
MANY_OBJECTS = 1_000_000

# Status of a volume in a retype, and the time without progress after which
# the retype is reported. A running service updates the progress every minute.
_RETYPING = 'retyping'
# Prefix of the names of attributes, which findings leave out.
_PREFIX = f'{definitions.ALIAS}:'
_STALLED = datetime.timedelta(minutes=10)
# Time without a write after which an upload to Glance is reported.
_ABANDONED = datetime.timedelta(days=1)

_Found = Iterator[findings.Finding]

# Time after which an image that the driver should have removed is reported.
_REMOVED_IN = datetime.timedelta(days=1)
_AT_ONCE = datetime.timedelta()


def of_pool(
    scanned: scan.PoolScan,
    known: records.Records | None,
    now: datetime.datetime,
) -> _Found:
    """Yield the findings of a pool.

    :param known: the cloud's records, read after the scan. If None, only
        Ceph's own references show leftovers.
    :param now: the time with a time zone, for the trash
    """
    subjects = [
        _Subject(image, names.of_image(image.name), known)
        for image in scanned.found
    ]
    for each in subjects:
        if _is_being_converted(each.volume, now):
            # The service is converting the image, and changes the trash and
            # the record.
            continue
        yield from _of_image(each)
        if known is not None:
            yield from _of_record(each, known, now)
    for name in sorted(scanned.forbidden):
        yield findings.Finding(
            findings.FORBIDDEN, scanned.pool, name, scanned.forbidden[name]
        )
    yield from scanned.unreadable.values()
    if scanned.failed:
        yield findings.Finding(
            findings.POOL_FAILED, scanned.pool, '', scanned.failed
        )
    yield from _of_trash(scanned, now)
    for namespace, number in scanned.namespaces.items():
        yield findings.Finding(
            findings.IN_NAMESPACE,
            scanned.pool,
            f'{namespace}/',
            f'{number} images',
        )
    patterns = collections.Counter(
        names.pattern(each.image.name)
        for each in subjects
        if each.name.owner is names.Owner.UNKNOWN
    )
    for pattern, number in sorted(patterns.items()):
        yield findings.Finding(
            findings.UNKNOWN_NAME, scanned.pool, pattern, f'{number} images'
        )


def _of_trash(scanned: scan.PoolScan, now: datetime.datetime) -> _Found:
    for entry in scanned.trash:
        kind = None
        if entry.source is objects.TrashSource.REMOVING:
            kind = findings.REMOVAL
        elif (
            entry.source is objects.TrashSource.USER
            # The driver removes those with its mark.
            and entry.expires + (_REMOVED_IN if entry.mark else _AT_ONCE)
            <= now
        ):
            kind = findings.IN_TRASH
        elif entry.is_damaged:
            kind = findings.DAMAGED_ENTRY
        if kind:
            yield findings.Finding(
                kind,
                entry.pool,
                entry.name,
                f'{entry.ident}, since {entry.expires:%Y-%m-%d %H:%M}',
                ident=entry.ident,
            )


def ghosts(scans: Iterable[scan.PoolScan], known: records.Records) -> _Found:
    """Yield the volumes without an image.

    Volumes of a pool that was not scanned are left out.
    """
    names_of = {
        each.pool: {image.name for image in each.found}
        | each.unreadable.keys()
        | each.forbidden.keys()
        for each in scans
        if not each.is_forbidden
    }
    for volume in known.volumes.values():
        pool = known.backends.get(volume.pool)
        if pool is None or pool not in names_of:
            continue
        if not volume.must_have_image or volume.migrating:
            continue
        name = volume.image_name
        if name not in names_of[pool]:
            others = [each for each in names_of if name in names_of[each]]
            yield findings.Finding(
                findings.GHOST,
                pool,
                name,
                f'the volume is {volume.status}{_elsewhere(others)}',
                volume.ident,
                volume.project,
            )


def unaudited(
    scans: Iterable[scan.PoolScan], known: records.Records, is_whole: bool
) -> _Found:
    """Yield the back ends whose volumes may have lost their images.

    Cinder shows no back end whose service is down or disabled.

    :param is_whole: whether all pools were scanned
    """
    scanned = {each.pool for each in scans}
    numbers = collections.Counter(
        volume.pool
        for volume in known.volumes.values()
        if volume.must_have_image and volume.pool
    )
    for backend in sorted(numbers.keys() - known.elsewhere):
        pool = known.backends.get(backend)
        if pool in scanned or (pool and not is_whole):
            continue
        why = 'Ceph has no such pool' if pool else 'it does not report'
        yield findings.Finding(
            findings.UNAUDITED,
            pool or backend,
            '',
            f'{numbers[backend]} volumes of {backend}: {why}',
        )


def _elsewhere(pools: Iterable[str]) -> str:
    """Return what to do with a volume whose image is in another pool.

    A migration that Cinder saved late leaves it there.
    """
    text = ', '.join(sorted(pools))
    return (
        f'; an image of its name is in {text}: do not delete the volume, set '
        'its host to the back end of that pool'
        if text
        else ''
    )


def _is_being_converted(
    volume: records.Volume | None, now: datetime.datetime
) -> bool:
    """Return whether the volume service is converting an image."""
    if volume is None or volume.status != _RETYPING:
        return False
    conversion = volume.made.get(image_record.ATTRIBUTE_CONVERSION) or {}
    try:
        at = records.utc(str(conversion.get('at')))
    except ValueError:
        return False
    return now - at < _STALLED


@dataclasses.dataclass(frozen=True)
class _Subject:
    """An image, its owner by its name, and the records if there are any."""

    image: images.Image
    name: names.Name
    known: records.Records | None

    @property
    def volume(self) -> records.Volume | None:
        """The volume with the ID in the name, of its image or its backups."""
        return self.known.volumes.get(self.name.ident) if self.known else None

    @property
    def own_volume(self) -> records.Volume | None:
        """The volume whose image it is, if it is known."""
        is_own = self.name.owner is names.Owner.VOLUME
        return self.volume if is_own else None

    @property
    def is_foreign(self) -> bool:
        """Whether the mark of the image names another cloud."""
        return bool(self.known and self.known.is_foreign(self.image.owner))

    def finding(
        self,
        kind: findings.Kind,
        detail: str = '',
        snapshot: str = '',
        volume: records.Volume | None = None,
    ) -> findings.Finding:
        """Return a finding.

        :param volume: by default that whose image it is. A volume that was
            migrated has the image of another ID. Without records, the ID is
            that in the name of the image.
        """
        image, ident, project = self.image, '', ''
        if self.known is None and self.name.owner is names.Owner.VOLUME:
            ident = self.name.ident
        if volume := volume or self.own_volume:
            ident, project = volume.ident, volume.project
        about = f'{image.name}@{snapshot}' if snapshot else image.name
        return findings.Finding(
            kind, image.pool, about, detail, ident, project, image.ident
        )


def _of_image(each: _Subject) -> _Found:
    """Yield the findings that need no records of the cloud."""
    image, finding = each.image, each.finding
    if image.stale_lock:
        yield finding(findings.STALE_LOCK, image.stale_lock)
    if image.map_state is images.MapState.INVALID:
        yield finding(findings.MAP_INVALID)
    for key, value in configuration.unexplained(image, each.own_volume):
        yield finding(findings.OVERRIDE, f'{key} = {value}')
    if image.migrating:
        yield finding(findings.RBD_MIGRATION)
    has_deep_flatten = features.DEEP_FLATTEN in image.image_features
    if image.parent and image.snapshots and not has_deep_flatten:
        yield finding(findings.NO_DEEP_FLATTEN, f'parent: {image.parent}')
    no_map = image.map_state is not images.MapState.VALID
    if no_map and image.objects >= MANY_OBJECTS:
        yield finding(findings.SLOW_DELETION, f'{image.objects} objects')
    for snapshot in image.snapshots:
        if snapshot.map_state is images.MapState.INVALID:
            yield finding(findings.SNAPSHOT_MAP_INVALID, '', snapshot.name)
        owner = names.of_snapshot(snapshot.name).owner
        is_needed = snapshot.children or each.is_foreign
        if owner is names.Owner.CLONE and not is_needed:
            yield finding(findings.CLONE_SNAPSHOT, '', snapshot.name)
    needed = any(snapshot.children for snapshot in image.snapshots)
    if each.name.owner is names.Owner.DELETED_SOURCE and not needed:
        yield finding(findings.DELETED_SOURCE, sizes.format_size(image.size))


def _of_record(
    each: _Subject, known: records.Records, now: datetime.datetime
) -> _Found:
    """Yield the contradictions between an image and the records."""
    image, ident = each.image, each.name.ident
    if each.is_foreign:
        yield findings.Finding(
            *(findings.FOREIGN_MARK, image.pool, image.name, image.owner),
            ident=image.ident,
        )
    else:
        yield from _orphans(each, known)
    status = known.incomplete.get(ident)
    # An import into several stores has ended in those with a location.
    if image.pool in known.located.get(ident, ()):
        status = None
    if status and image.modified and now - image.modified > _ABANDONED:
        yield each.finding(
            findings.INTERRUPTED_UPLOAD,
            f'the Glance image is {status}, the last write was at '
            f'{image.modified:%Y-%m-%d %H:%M} UTC',
        )
    if each.own_volume:
        yield from _of_volume(each, each.own_volume, known)


#: What an image or a snapshot without a record of its owner is.
ORPHANS = {
    names.Owner.VOLUME: findings.ORPHAN_VOLUME,
    names.Owner.GLANCE_IMAGE: findings.ORPHAN_IMAGE,
    names.Owner.SERVER_DISK: findings.ORPHAN_DISK,
    names.Owner.BACKUP_IMAGE: findings.ORPHAN_BACKUP_IMAGE,
    names.Owner.VOLUME_SNAPSHOT: findings.ORPHAN_SNAPSHOT,
    names.Owner.BACKUP: findings.ORPHAN_BACKUP,
}


def _orphans(each: _Subject, known: records.Records) -> _Found:
    """Yield an image, and its snapshots, without a record of their owners."""
    image, owner = each.image, each.name.owner
    if owner is names.Owner.BACKUP_IMAGE:
        is_recorded = image.name.rpartition('.')[2] in known.backups or any(
            names.of_snapshot(snapshot.name).ident in known.backups
            for snapshot in image.snapshots
        )
    else:
        is_recorded = known.has(each.name)
    if owner in ORPHANS and not is_recorded:
        yield each.finding(ORPHANS[owner], sizes.format_size(image.size))
    for snapshot in image.snapshots:
        name = names.of_snapshot(snapshot.name)
        kind = ORPHANS.get(name.owner)
        if kind and snapshot.namespace == 'user' and not known.has(name):
            clones = f'{len(snapshot.children)} clones'
            yield each.finding(kind, clones, snapshot.name, each.volume)


def _of_volume(
    each: _Subject, volume: records.Volume, known: records.Records
) -> _Found:
    image, finding = each.image, each.finding
    pool = known.backends.get(volume.pool)
    if pool not in (None, image.pool) and not volume.migrating:
        yield finding(findings.SECOND_IMAGE, f'the volume is in {pool}')
        return
    if volume.migrating:
        yield finding(findings.CINDER_MIGRATION, f'volume: {volume.status}')
    clashing = image.image_features & features.SINGLE_CLIENT
    if volume.multiattach and clashing:
        yield finding(findings.MULTIATTACH, features.joined(clashing))
    # The remedy deletes the snapshot in the volume's own pool, which must be
    # this one.
    is_ours = pool == image.pool and not each.is_foreign
    if is_ours and configuration.is_settled(volume):
        # Names follow snapshot_name_template.
        existing = ' '.join(snapshot.name for snapshot in image.snapshots)
        for ident in known.available.get(volume.ident, ()):
            if ident not in existing:
                yield finding(
                    findings.LOST_SNAPSHOT,
                    'it is available in Cinder',
                    f'snapshot-{ident}',
                )
    for difference in configuration.contradictions(image, volume):
        yield finding(findings.CONFIGURATION, difference)
    for attribute, actual in _actual(image):
        recorded = volume.made.get(attribute, actual)
        if isinstance(recorded, list):
            recorded = sorted(recorded)
        if recorded != actual:
            yield finding(
                findings.CONTRADICTION,
                f'{attribute.removeprefix(_PREFIX)} is {actual}, recorded as '
                f'{recorded}',
            )


def _actual(image: images.Image) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an image, as the API shows them."""
    made = image.image_layout
    yield definitions.ATTRIBUTE_OBJECT_SIZE, made.object_size
    yield definitions.ATTRIBUTE_STRIPE_UNIT, made.stripe_unit
    yield definitions.ATTRIBUTE_STRIPE_COUNT, made.stripe_count
    yield definitions.ATTRIBUTE_FEATURES, sorted(image.image_features)
    if image.data_pool:
        yield definitions.ATTRIBUTE_DATA_POOL, image.data_pool
