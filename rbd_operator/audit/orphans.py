# SPDX-License-Identifier: Apache-2.0

"""Orphans: images and snapshots of which the cloud has no record."""

from collections.abc import Container
from collections.abc import Iterator

from rbd_operator.audit import findings
from rbd_operator.audit import images
from rbd_operator.audit import names
from rbd_operator.audit import records


def of_image(
    image: images.Image, known: records.Records
) -> Iterator[findings.Finding]:
    """Yield the finding of an image without a record of its owner."""
    name = names.of_image(image.name)
    missing: dict[
        names.Owner, tuple[findings.Kind | None, Container[str] | None]
    ] = {
        names.Owner.VOLUME: (findings.ORPHAN_VOLUME, known.volumes),
        names.Owner.GLANCE_IMAGE: (findings.ORPHAN_IMAGE, known.images),
        names.Owner.SERVER_DISK: (findings.ORPHAN_DISK, known.servers),
    }
    kind, recorded = missing.get(name.owner, (None, None))
    # A service that was not queried knows of no orphan.
    if recorded is None or name.ident in recorded:
        kind = None
    if name.owner is names.Owner.BACKUP_IMAGE and not _has_backup(
        image, known
    ):
        kind = findings.ORPHAN_BACKUP_IMAGE
    if kind:
        yield findings.Finding(
            kind,
            image.pool,
            image.name,
            f'{image.size} bytes',
            ident=image.ident,
        )


def _has_backup(image: images.Image, known: records.Records) -> bool:
    """Return whether Cinder has a backup that an image contains."""
    if image.name.rpartition('.')[2] in known.backups:
        return True
    return any(
        names.of_snapshot(each.name).ident in known.backups
        for each in image.snapshots
    )


def of_snapshots(
    image: images.Image,
    known: records.Records,
    volume: records.Volume | None,
) -> Iterator[findings.Finding]:
    """Yield the snapshots of an image without a record.

    :param volume: the volume of the image, if it is known
    """
    unknown_to = {
        names.Owner.VOLUME_SNAPSHOT: (
            findings.ORPHAN_SNAPSHOT,
            known.snapshots,
        ),
        names.Owner.BACKUP: (findings.ORPHAN_BACKUP, known.backups),
    }
    for each in image.snapshots:
        name = names.of_snapshot(each.name)
        kind, idents = unknown_to.get(name.owner, (None, frozenset[str]()))
        if kind and name.ident not in idents and each.namespace == 'user':
            yield findings.Finding(
                kind,
                image.pool,
                f'{image.name}@{each.name}',
                f'{len(each.children)} clones',
                volume.ident if volume else '',
                volume.project if volume else '',
                image.ident,
            )
