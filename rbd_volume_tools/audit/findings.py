# SPDX-License-Identifier: Apache-2.0

"""The kinds of findings, and the class of a finding."""

import dataclasses

from rbd_volume_tools.command_line import findings as checks

Severity = checks.Severity


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of finding.

    :ivar code: stable name for programs
    :ivar remedy: what an operator can do
    """

    code: str
    severity: Severity
    remedy: str


_NOTICE, _WARNING, _ERROR = Severity.NOTICE, Severity.WARNING, Severity.ERROR

MAP_INVALID = Kind(
    'object-map-invalid',
    _WARNING,
    'Rebuild the map: rbd object-map rebuild <image>.',
)
SNAPSHOT_MAP_INVALID = Kind(
    'snapshot-object-map-invalid',
    _WARNING,
    'Rebuild the map: rbd object-map rebuild <image>@<snapshot>.',
)
OVERRIDE = Kind(
    'configuration-override',
    _NOTICE,
    'Check that it is intended: rbd config image list <image>.',
)
ORPHAN_VOLUME = Kind(
    'orphan-volume',
    _WARNING,
    'Check whose it is. cinder-rbd-ext clean removes what it can prove.',
)
ORPHAN_SNAPSHOT = Kind(
    'orphan-snapshot',
    _WARNING,
    'Check whose it is. Remove it only if Cinder has deleted it.',
)
ORPHAN_BACKUP = Kind(
    'orphan-backup-snapshot',
    _WARNING,
    'Check whose backup it is: in a pool of backups, the snapshot is the '
    'backup. Remove it only if Cinder has deleted it.',
)
ORPHAN_IMAGE = Kind(
    'orphan-image',
    _WARNING,
    'Check whose it is. cinder-rbd-ext clean removes what it can prove.',
)
ORPHAN_DISK = Kind(
    'orphan-disk',
    _WARNING,
    'Check whose it is. cinder-rbd-ext clean removes what it can prove.',
)
GHOST = Kind(
    'volume-without-image',
    _ERROR,
    'Look for the image in the trash, in the other pools and in backups.',
)
LOST_SNAPSHOT = Kind(
    'volume-snapshot-lost',
    _ERROR,
    'Look for it in copies of the pool. If there is none, inform the project, '
    'and: openstack volume snapshot set --state error <id>, openstack volume '
    'snapshot delete <id>. Cinder only removes its record.',
)
INTERRUPTED_UPLOAD = Kind(
    'interrupted-upload',
    _WARNING,
    'Check the log of glance-api. If no upload runs, delete the Glance image: '
    'openstack image delete <id>. If the RBD image remains, the next audit '
    'finds it as orphan-image.',
)
DELETED_SOURCE = Kind(
    'deleted-source-not-needed',
    _WARNING,
    'No clone depends on it. Check whose it is. cinder-rbd-ext clean removes '
    'what it can prove.',
)
CLONE_SNAPSHOT = Kind(
    'clone-snapshot-without-clone',
    _WARNING,
    'Check whose it is. cinder-rbd-ext clean removes what it can prove.',
)
HALF_REMOVED = Kind(
    'half-removed',
    _ERROR,
    'It has no header. Look for its data with --objects. rbd ls -l fails on '
    'it.',
)
IN_TRASH = Kind(
    'expired-trash',
    _WARNING,
    'Check whose it is, then remove it: rbd trash rm <id>.',
)
RBD_MIGRATION = Kind(
    'unfinished-rbd-migration',
    _ERROR,
    'Finish it: rbd migration execute, then rbd migration commit.',
)
CINDER_MIGRATION = Kind(
    'unfinished-cinder-migration',
    _WARNING,
    'Wait for it, or reset it: cinder reset-state '
    '--reset-migration-status <volume>.',
)
MULTIATTACH = Kind(
    'multiattach-with-single-client-features',
    _ERROR,
    'Disable the features while the volume is detached.',
)
CONTRADICTION = Kind(
    'attributes-contradict-image',
    _ERROR,
    'Find out who changed the image; correct the keys as an administrator.',
)
CONFIGURATION = Kind(
    'configuration-contradicts-record',
    _WARNING,
    'Find out who changed it. cinder-rbd-ext types plan <type> and apply set '
    'volume and its type request.',
)
NO_DEEP_FLATTEN = Kind(
    'deep-flatten-missing',
    _NOTICE,
    'Its snapshots keep the parent after a flatten. The feature cannot be '
    'added to an existing image.',
)
SLOW_DELETION = Kind(
    'slow-deletion',
    _NOTICE,
    'Add an object map before it is deleted.',
)

FORBIDDEN = Kind(
    'not-readable',
    _ERROR,
    'Use a Ceph user that may read it, or select other pools with --pool.',
)

POOL_FAILED = Kind(
    'pool-not-readable',
    _ERROR,
    'Nothing is known about its images. Check the health of the cluster: ceph '
    'health detail, ceph pg ls-by-pool <pool>.',
)

DAMAGED_ENTRY = Kind(
    'damaged-trash-entry',
    _ERROR,
    'Find out who wrote it: rados -p <pool> getomapval rbd_trash id_<id>.',
)

UNAUDITED = Kind(
    'back-end-not-audited',
    _ERROR,
    'Start or enable its cinder-volume (openstack volume service list). If it '
    'reports a pool, check that Ceph has this pool, with the application rbd.',
)

ID_LOST = Kind(
    'id-object-lost',
    _ERROR,
    'The image is complete, but its object rbd_id is lost. Restore the object '
    'from the directory of the pool. Do not use rbd rm: it deletes the image.',
)
UNOPENABLE = Kind(
    'cannot-be-opened',
    _ERROR,
    'Its header and its name are there. Find out why it cannot be opened: rbd '
    'info <image>. Its parent or a feature may be missing.',
)
HALF_TRASHED = Kind(
    'interrupted-trash-move',
    _WARNING,
    'The image is in the trash and still has its name. Complete the move: '
    'rbd trash mv <image>.',
)
REMOVAL = Kind(
    'interrupted-removal',
    _WARNING,
    'If no client removes it now, complete the removal with cinder-rbd-ext '
    'clean.',
)
DATA_ALONE = Kind(
    'data-without-header',
    _ERROR,
    'Try to recover the image with its object map and a backup of the header. '
    'Nothing else refers to the data.',
)
HEADER_ALONE = Kind(
    'header-without-entry',
    _ERROR,
    'The image has no name. Find out what removed its entry from the '
    'directory of the pool.',
)
ORPHAN_BACKUP_IMAGE = Kind(
    'orphan-backup-image',
    _WARNING,
    'Check whose backups its snapshots are before you remove it.',
)
SECOND_IMAGE = Kind(
    'second-image-of-volume',
    _WARNING,
    'The volume is in another pool. Audit that pool, too, and find out who '
    'copied the image.',
)
IN_NAMESPACE = Kind(
    'images-in-namespace',
    _NOTICE,
    'OpenStack uses no namespaces. The audit does not open these images.',
)
UNKNOWN_NAME = Kind(
    'unknown-name', _NOTICE, 'No service of OpenStack gives such names.'
)
STALE_LOCK = Kind(
    'stale-lock',
    _WARNING,
    'The client that holds the lock is gone. The next client breaks the lock; '
    'it needs the right to blocklist.',
)
FOREIGN_MARK = Kind(
    'image-of-another-cloud',
    _NOTICE,
    'The mark of the image names another cloud. It is never removed.',
)

#: All kinds above, by their codes.
KINDS: dict[str, Kind] = {
    each.code: each
    for each in tuple(globals().values())
    if isinstance(each, Kind)
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that an operator should look at.

    :ivar pool: Ceph pool; Cinder's pool for a back end that does not report
    :ivar image: name of the image, with ``@snapshot`` for a snapshot; empty
        for a pool
    :ivar detail: what was found
    :ivar volume: id of Cinder's volume, if there is one
    :ivar project: id of the volume's project, if there is one
    :ivar ident: librbd's id of the image, if known
    """

    kind: Kind
    pool: str
    image: str
    detail: str = ''
    volume: str = ''
    project: str = ''
    ident: str = ''
