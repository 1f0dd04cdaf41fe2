# SPDX-License-Identifier: Apache-2.0

"""Reasons against the removal of a leftover."""

from rbd_volume_tools.command_line import outcomes

_Reason = outcomes.Reason

IN_USE = _Reason(
    'in-use',
    'a client has the image open',
    'Find the client: rbd status <image>.',
)
STALE_LOCK = _Reason(
    'stale-lock',
    'a client that is gone holds the lock',
    'Run clean apply with --break-stale-locks, which blocklists the client.',
)
CHILDREN = _Reason(
    'children',
    'clones depend on it',
    'Flatten or delete the clones first: rbd children --all <image>.',
)
TOO_YOUNG = _Reason(
    'too-young',
    'its last sign of life is too recent',
    'Plan again later, or with a smaller --older-than.',
)
MIRRORED = _Reason(
    'mirrored',
    'the image is mirrored',
    'Check the cluster that it is mirrored with; disable its mirroring.',
)
IN_GROUP = _Reason(
    'in-group',
    'the image is in a group',
    'Remove it from the group: rbd group image remove.',
)
MIGRATING = _Reason(
    'migrating',
    'a migration of librbd is not committed',
    'Finish it: rbd migration execute, then rbd migration commit.',
)
UNLISTED = _Reason(
    'objects-not-listed',
    'the objects of a pool could not be listed',
    'Give the Ceph user the right to read all pools, or plan again later.',
)
NOT_A_REST = _Reason(
    'not-a-rest',
    'objects of the image are still there',
    'Recover the image, or find out why it cannot be opened.',
)
DAMAGED = _Reason(
    'damaged',
    'its content ends each process that opens it',
    'Do not open it. Keep its objects for an examination: rados export.',
)
DEFERRED = _Reason(
    'deferred',
    'the entry of the trash is not expired, or not of a user',
    'Plan again later.',
)
CHANGED = _Reason(
    'changed',
    'it has changed since the plan',
    'Make a new plan.',
)
NOT_CLEANABLE = 'not-cleanable'
