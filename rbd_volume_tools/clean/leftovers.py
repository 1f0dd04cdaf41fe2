# SPDX-License-Identifier: Apache-2.0

"""The table of leftovers: what each is, and what lets it go.

:mod:`.examination` and :mod:`.removal` read the rows, and so does the page
about ``cinder-rbd-ext clean``. A kind without a row is never removed.
"""

import dataclasses
import enum

from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions

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


_Reasons = tuple[outcomes.Reason, ...]
#: What must not be, of any image that librbd opens.
_OF_IMAGES: _Reasons = (
    *(IN_USE, decisions.LOCKED, CHILDREN, IN_GROUP),
    *(MIRRORED, MIGRATING, DAMAGED),
    *(evidence.RECORDED, evidence.FOREIGN, evidence.RELEASED, evidence.LATER),
    *(evidence.FOREIGN_POOL, TOO_YOUNG),
)
_How = evidence.How
_ALL_PROOFS = tuple(_How)
_KILLED_MOVE = (
    'An entry in the trash and perhaps the name, which the audit finds as '
    'interrupted-trash-move; the same plan completes it.'
)


@dataclasses.dataclass(frozen=True)
class Leftover:
    """A kind of leftover.

    :ivar kind: of the finding
    :ivar looks: what it looks like
    :ivar proofs: each of them is enough
    :ivar never: what must not be
    :ivar way: how it goes
    :ivar kill: what a kill leaves, and who takes it up
    :ivar source: who moved it to the trash, if it is there
    :ivar states: of its entry in the trash; empty for any
    """

    kind: findings.Kind
    looks: str
    way: Way
    kill: str
    proofs: tuple[evidence.How, ...] = _ALL_PROOFS
    never: _Reasons = _OF_IMAGES
    source: objects.TrashSource = objects.TrashSource.USER
    states: frozenset[objects.TrashState] = frozenset()


_State = objects.TrashState

TABLE: dict[findings.Kind, Leftover] = {
    each.kind: each
    for each in (
        Leftover(
            findings.ORPHAN_VOLUME,
            'An image volume-<uuid> whose uuid no volume has',
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.ORPHAN_IMAGE,
            'An image <uuid> that Glance does not have',
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.ORPHAN_DISK,
            'An image <uuid>_disk of a server that Nova does not have',
            Way.TRASH,
            _KILLED_MOVE,
            # Nova does not tell in which pool the disk was.
            (_How.MARK, _How.APPROVAL),
        ),
        Leftover(
            findings.DELETED_SOURCE,
            'An image volume-<uuid>.deleted without a clone',
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.HALF_TRASHED,
            'A name whose image is in the trash',
            Way.FINISH,
            'The same; the same plan completes it.',
            never=(*_OF_IMAGES, CHANGED, DEFERRED),
            states=frozenset({_State.SETTLED, _State.MOVING}),
        ),
        Leftover(
            findings.IN_TRASH,
            'An image in the trash that a user moved there, whose deferment '
            'has ended',
            Way.PURGE,
            'An entry that is being removed, perhaps without a header, or one '
            'with fewer snapshots; the next plan has it.',
            never=(*_OF_IMAGES, DEFERRED),
            states=frozenset({_State.SETTLED, _State.REMOVING}),
        ),
        Leftover(
            findings.REMOVAL,
            'An image in the trash whose removal was interrupted',
            Way.PURGE,
            'The same; the next plan has it.',
            never=(*_OF_IMAGES, DEFERRED),
            source=objects.TrashSource.REMOVING,
        ),
        Leftover(
            findings.CLONE_SNAPSHOT,
            'A snapshot volume-<uuid>.clone_snap without a clone',
            Way.SNAPSHOT,
            'The snapshot or none; the next plan has it.',
            # There is no trash for snapshots.
            (_How.RECORD,),
            (*_OF_IMAGES, decisions.OWNER_GONE, decisions.BUSY),
        ),
        Leftover(
            findings.ORPHAN_BACKUP,
            'A snapshot backup.<uuid>.snap.<time> whose backup Cinder does '
            'not have',
            Way.SNAPSHOT,
            'The snapshot or none; the next plan has it.',
            (_How.RECORD,),
            (*_OF_IMAGES, decisions.OWNER_GONE, decisions.BUSY),
        ),
        Leftover(
            findings.HALF_REMOVED,
            'A name without a header, an entry in the trash or a data object '
            'in any pool',
            Way.NAME,
            'The entry of the directory without the ID object; the next plan '
            'has it.',
            never=(
                *(NOT_A_REST, UNLISTED, evidence.RECORDED),
                evidence.FOREIGN_POOL,
            ),
        ),
    )
}
