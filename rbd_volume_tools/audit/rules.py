# SPDX-License-Identifier: Apache-2.0

"""Rules that derive findings from facts and records."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import datetime
import functools
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import ownership
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
    for image in scanned.found:
        if _is_being_converted(image, known, now):
            # The service is converting the image, and changes the trash and
            # the record.
            continue
        yield from _of_image(image, known)
        if known is not None:
            yield from _of_record(image, known, now)
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
        names.pattern(image.name)
        for image in scanned.found
        if names.of_image(image.name).owner is names.Owner.UNKNOWN
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
    image: images.Image,
    known: records.Records | None,
    now: datetime.datetime,
) -> bool:
    """Return whether the volume service is converting an image."""
    volume = (
        known.volumes.get(names.of_image(image.name).ident) if known else None
    )
    if volume is None or volume.status != _RETYPING:
        return False
    conversion = volume.made.get(image_record.ATTRIBUTE_CONVERSION) or {}
    try:
        at = records.utc(str(conversion.get('at')))
    except ValueError:
        return False
    return now - at < _STALLED


def _volume(
    image: images.Image, known: records.Records | None
) -> records.Volume | None:
    """Return the volume of an image; None if there is none, or no records."""
    name = names.of_image(image.name)
    if known is None or name.owner is not names.Owner.VOLUME:
        return None
    return known.volumes.get(name.ident)


def _owner(
    image: images.Image, known: records.Records | None
) -> tuple[str, str]:
    """Return the IDs of the volume of an image and of its project.

    A volume that was migrated has the image of another ID. Without records,
    the ID is that in the name of the image.
    """
    name = names.of_image(image.name)
    if name.owner is not names.Owner.VOLUME:
        return '', ''
    if known is None:
        return name.ident, ''
    volume = _volume(image, known)
    return (volume.ident, volume.project) if volume else ('', '')


def _finding(
    image: images.Image,
    volume: str,
    project: str,
    kind: findings.Kind,
    detail: str = '',
    snapshot: str = '',
) -> findings.Finding:
    about = f'{image.name}@{snapshot}' if snapshot else image.name
    return findings.Finding(
        kind, image.pool, about, detail, volume, project, image.ident
    )


def _of_image(image: images.Image, known: records.Records | None) -> _Found:
    """Yield the findings that need no records of the cloud.

    :param known: the records, for the volume of the image
    """
    finding = functools.partial(_finding, image, *_owner(image, known))
    if image.stale_lock:
        yield finding(findings.STALE_LOCK, image.stale_lock)
    if image.map_state is images.MapState.INVALID:
        yield finding(findings.MAP_INVALID)
    for key, value in configuration.unexplained(image, _volume(image, known)):
        yield finding(findings.OVERRIDE, f'{key} = {value}')
    if image.migrating:
        yield finding(findings.RBD_MIGRATION)
    has_deep_flatten = features.DEEP_FLATTEN in image.image_features
    if image.parent and image.snapshots and not has_deep_flatten:
        yield finding(findings.NO_DEEP_FLATTEN, f'parent: {image.parent}')
    no_map = image.map_state is not images.MapState.VALID
    if no_map and image.objects >= MANY_OBJECTS:
        yield finding(findings.SLOW_DELETION, f'{image.objects} objects')
    yield from _of_own_snapshots(image, _is_foreign(image, known), finding)
    needed = any(each.children for each in image.snapshots)
    owner = names.of_image(image.name).owner
    if owner is names.Owner.DELETED_SOURCE and not needed:
        yield finding(findings.DELETED_SOURCE, sizes.format_size(image.size))


def _is_foreign(image: images.Image, known: records.Records | None) -> bool:
    """Return whether the mark of an image names another cloud."""
    if known is None:
        return False
    return image.owner not in ('', known.cloud_id, ownership.RELEASED)


def _of_own_snapshots(
    image: images.Image,
    is_foreign: bool,
    finding: Callable[..., findings.Finding],
) -> _Found:
    for each in image.snapshots:
        if each.map_state is images.MapState.INVALID:
            yield finding(findings.SNAPSHOT_MAP_INVALID, '', each.name)
        is_clones = names.of_snapshot(each.name).owner is names.Owner.CLONE
        if is_clones and not each.children and not is_foreign:
            yield finding(findings.CLONE_SNAPSHOT, '', each.name)


def _of_record(
    image: images.Image, known: records.Records, now: datetime.datetime
) -> _Found:
    """Yield the contradictions between an image and the records."""
    name = names.of_image(image.name)
    volume = known.volumes.get(name.ident)
    if _is_foreign(image, known):
        yield _finding(image, '', '', findings.FOREIGN_MARK, image.owner)
    else:
        yield from orphan(image, known)
        yield from orphan_snapshots(image, known, volume)
    status = known.incomplete.get(name.ident)
    # An import into several stores has ended in those with a location.
    if image.pool in known.located.get(name.ident, ()):
        status = None
    if status and image.modified and now - image.modified > _ABANDONED:
        yield _finding(
            image,
            '',
            '',
            findings.INTERRUPTED_UPLOAD,
            f'the Glance image is {status}, the last write was at '
            f'{image.modified:%Y-%m-%d %H:%M} UTC',
        )
    if volume and name.owner is names.Owner.VOLUME:
        yield from _of_volume(image, volume, known)


#: What an image or a snapshot without a record of its owner is.
ORPHANS = {
    names.Owner.VOLUME: findings.ORPHAN_VOLUME,
    names.Owner.GLANCE_IMAGE: findings.ORPHAN_IMAGE,
    names.Owner.SERVER_DISK: findings.ORPHAN_DISK,
    names.Owner.BACKUP_IMAGE: findings.ORPHAN_BACKUP_IMAGE,
    names.Owner.VOLUME_SNAPSHOT: findings.ORPHAN_SNAPSHOT,
    names.Owner.BACKUP: findings.ORPHAN_BACKUP,
}


def orphan(image: images.Image, known: records.Records) -> _Found:
    """Yield the finding of an image without a record of its owner."""
    name = names.of_image(image.name)
    if name.owner is names.Owner.BACKUP_IMAGE:
        is_recorded = image.name.rpartition('.')[2] in known.backups or any(
            names.of_snapshot(each.name).ident in known.backups
            for each in image.snapshots
        )
    else:
        is_recorded = known.has(name)
    if name.owner in ORPHANS and not is_recorded:
        size = sizes.format_size(image.size)
        yield _finding(image, '', '', ORPHANS[name.owner], size)


def orphan_snapshots(
    image: images.Image,
    known: records.Records,
    volume: records.Volume | None,
) -> _Found:
    """Yield the snapshots of an image without a record.

    :param volume: the volume of the image, if it is known
    """
    for each in image.snapshots:
        name = names.of_snapshot(each.name)
        kind = ORPHANS.get(name.owner)
        if kind and each.namespace == 'user' and not known.has(name):
            yield _finding(
                image,
                volume.ident if volume else '',
                volume.project if volume else '',
                kind,
                f'{len(each.children)} clones',
                each.name,
            )


def _of_volume(
    image: images.Image, volume: records.Volume, known: records.Records
) -> _Found:
    finding = functools.partial(_finding, image, volume.ident, volume.project)
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
    is_ours = pool == image.pool and not _is_foreign(image, known)
    if is_ours and configuration.is_settled(volume):
        # Names follow snapshot_name_template.
        existing = ' '.join(each.name for each in image.snapshots)
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
