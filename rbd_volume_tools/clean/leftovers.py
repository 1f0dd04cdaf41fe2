# SPDX-License-Identifier: Apache-2.0

"""The table of leftovers: what each is, and what lets it go.

:func:`.removal.examine` evaluates a row, and the page about ``cinder-rbd-ext
clean`` shows it. A kind without a row is never removed.
"""

from rbd_volume_options import ownership
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions

_Owner, _State = names.Owner, objects.TrashState
Evidence = evidence.Evidence
Leftover = evidence.Leftover
Obstacle = evidence.Obstacle
Proof = evidence.Proof
Way = evidence.Way

CHANGED = outcomes.Reason(
    'changed',
    'it has changed since the plan',
    'Make a new plan.',
)
UNKNOWN = outcomes.Reason(
    'owner-unknown',
    'nothing proves that it belongs to this cloud',
    'If it does, list <pool>/<id> in the file of --approve, or give '
    '--cinder-config and --glance-config.',
)
STALE_LOCK = outcomes.Reason(
    'stale-lock',
    'a client that is gone holds the lock',
    'Run clean apply with --break-stale-locks, which blocklists the client.',
)


# Proofs: each of those in a row is enough. A name proves nothing: clouds share
# pools, and administrators copy images.


#: The text of an image that the operator listed.
APPROVED = 'listed by the operator'


def _is_approved(seen: Evidence) -> bool:
    return f'{seen.pool}/{seen.ident}' in seen.sources.approved


def _recorded(seen: Evidence) -> str:
    owner, ours = seen.name.owner, seen.sources.known.cloud_id
    if not seen.snapshot and seen.created:
        if owner is _Owner.SERVER_DISK:
            # Nova does not tell in which pool the disk was; the mark does.
            return ''
        if owner is _Owner.VOLUME and not (
            seen.is_marking and seen.trusted_mark == ours
        ):
            # The database keeps our record of a volume that the stock driver
            # has unmanaged since.
            return ''
    return seen.record.text


def _marked(seen: Evidence) -> str:
    ours = seen.sources.known.cloud_id
    # A database that was restored from a dump lacks the owners of all images
    # that were created since. Their marks are valid.
    if ours and seen.trusted_mark == ours and seen.record.since:
        return f'mark of the cloud {ours}, deleted record'
    return ''


APPROVAL = Proof(
    'the approval of an operator',
    lambda seen: APPROVED if _is_approved(seen) else '',
)
RECORD = Proof('a deleted record that names the place', _recorded)
MARK = Proof('the mark of the cloud, and a deleted record', _marked)


# Obstacles: each of those in a row forbids the removal, the first one is told.


def _damage(seen: Evidence) -> str | None:
    try:
        _ = seen.facts
    except reading.NotRead as error:
        if error.errno is not None:
            raise
        return str(error)
    return None


def _other_id(seen: Evidence) -> str | None:
    ident = seen.ident
    if seen.row.way is Way.NAME:
        librados = seen.cluster.librados
        stored = objects.id_of(librados, seen.ioctx, seen.image)
        ident = stored[0] if stored else ident
    elif seen.facts:
        ident = seen.facts.ident
    return None if ident == seen.ident else f'the image has the ID {ident}'


def _deferred(seen: Evidence) -> str | None:
    entry = seen.entry
    if entry is None:
        return None
    expires = f'{entry.source.name}, {entry.expires:%Y-%m-%d %H:%M}'
    if entry.source is not seen.row.source:
        return expires
    if seen.row.states and entry.state not in seen.row.states:
        return f'it is {entry.state.name}'
    is_early = seen.row.way is Way.PURGE and entry.expires > seen.sources.now()
    return expires if is_early else None


def _remains(seen: Evidence) -> str | None:
    if seen.row.way is Way.NAME:
        if seen.entry:
            return 'it is in the trash'
        if seen.has_header:
            return 'its header'
    elif seen.has_header:
        return None
    place = (seen.ioctx.get_pool_id(), seen.ident)
    number = seen.sources.inventory.data.get(place, 0)
    return f'{number} objects of data' if number else None


def _unlisted(seen: Evidence) -> str | None:
    if seen.row.way is not Way.NAME and seen.has_header:
        return None
    for pool, why in seen.sources.inventory.unlisted.items():
        return f'{pool}: {why}'
    return None


def _children(seen: Evidence) -> str | None:
    """Also of clones in the trash."""
    clones = (x for each in seen.snapshots for x in each.children)
    return ', '.join(clones) or None


def _released(seen: Evidence) -> str | None:
    is_released = seen.mark == ownership.RELEASED and not _is_approved(seen)
    return '' if is_released else None


def _later(seen: Evidence) -> str | None:
    """Somebody may have restored it, or given its name to another image."""
    created, since = seen.created, seen.record.since
    has_proof = _recorded(seen) or seen.trusted_mark
    if created and since and created > since and has_proof:
        return None if _is_approved(seen) else f'{created:%Y-%m-%d %H:%M} UTC'
    return None


def _young(seen: Evidence) -> str | None:
    last, sources = seen.last_sign, seen.sources
    if last is None or seen.is_resumed:
        return None
    is_young = sources.now() - last < sources.older_than
    return f'{last:%Y-%m-%d %H:%M} UTC' if is_young else None


def _busy(seen: Evidence) -> str | None:
    """A retype reads all snapshots, so that no watch shows it."""
    busy = seen.volume and decisions.obstacle_of_status(seen.volume)
    return busy[1] if busy else None


def _owner_text(name: names.Name | None) -> str | None:
    return f'{name.owner.value} {name.ident}' if name else None


DAMAGED = Obstacle(
    'damaged',
    'its content ends each process that opens it',
    'Do not open it. Keep its objects for an examination: rados export.',
    _damage,
)
OTHER_ID = Obstacle.of(CHANGED, _other_id)
NOT_IN_TRASH = Obstacle.of(
    CHANGED,
    lambda seen: (
        None
        if seen.entry and seen.entry.name == seen.image
        else 'it is not in the trash'
    ),
)
SNAPSHOT_GONE = Obstacle.of(
    CHANGED,
    lambda seen: None if seen.snapshots else 'the snapshot is gone',
)
VOLUME_GONE = Obstacle.of(
    CHANGED,
    lambda seen: (
        f'Cinder has no volume {seen.of_image.ident}'
        if seen.of_image.owner is _Owner.VOLUME and seen.volume is None
        else None
    ),
)
DEFERRED = Obstacle(
    'deferred',
    'the entry of the trash is not expired, or not of a user',
    'Plan again later.',
    _deferred,
)
UNLISTED = Obstacle(
    'objects-not-listed',
    'the objects of a pool could not be listed',
    'Give the Ceph user the right to read all pools, or plan again later.',
    _unlisted,
)
NOT_A_REST = Obstacle(
    'not-a-rest',
    'objects of the image are still there',
    'Recover the image, or find out why it cannot be opened.',
    _remains,
)
IN_USE = Obstacle(
    'in-use',
    'a client has the image open',
    'Find the client: rbd status <image>.',
    lambda seen: ', '.join(sorted(seen.clients.watchers)) or None,
)
LOCKED = Obstacle.of(
    decisions.LOCKED,
    lambda seen: seen.clients.owner if seen.clients.is_manual else None,
)
# librbd would blocklist the client. The volume may be that of a server whose
# host has lost only its network.
OWNER_GONE = Obstacle.of(
    decisions.OWNER_GONE, lambda seen: seen.clients.stale_owner or None
)
CHILDREN = Obstacle(
    'children',
    'clones depend on it',
    'Flatten or delete the clones first: rbd children --all <image>.',
    _children,
)
IN_GROUP = Obstacle(
    'in-group',
    'the image is in a group',
    'Remove it from the group: rbd group image remove.',
    lambda seen: seen.details.group or None,
)
MIRRORED = Obstacle(
    'mirrored',
    'the image is mirrored',
    'Check the cluster that it is mirrored with; disable its mirroring.',
    lambda seen: '' if seen.details.is_mirrored else None,
)
MIGRATING = Obstacle(
    'migrating',
    'a migration of librbd is not committed',
    'Finish it: rbd migration execute, then rbd migration commit.',
    lambda seen: '' if seen.facts and seen.facts.migrating else None,
)
RECORDED = Obstacle(
    'recorded',
    'the cloud has a record of its owner',
    'Run the audit again.',
    lambda seen: _owner_text(seen.recorded),
)
FOREIGN_POOL = Obstacle(
    'foreign-pool',
    'the pool has no image that the cloud has a record of',
    'Check the pool and the credentials. For a pool of Glance, give '
    '--glance-config. Otherwise, remove the image by hand.',
    lambda seen: None if seen.owners else '',
)
FOREIGN = Obstacle.of(
    outcomes.FOREIGN,
    lambda seen: (
        seen.mark if seen.sources.known.is_foreign(seen.mark) else None
    ),
)
RELEASED = Obstacle(
    'unmanaged',
    'the cloud has given the image away',
    'Ask who unmanaged the volume. List <pool>/<id> in the file of '
    '--approve to remove it.',
    _released,
)
LATER = Obstacle(
    'later-than-deletion',
    'it was created, renamed or restored from the trash after its owner '
    'was deleted',
    'Find out who did it. List <pool>/<id> in the file of --approve to '
    'remove it.',
    _later,
)
NEVER_RECORDED = Obstacle(
    'never-recorded',
    'it has the mark of the cloud, but no record of its owner was found, '
    'nor of the time of its deletion',
    'Give --cinder-config and --glance-config. If a database was restored '
    'from a dump, recover the record. If old records were purged or '
    'archived, list <pool>/<id> in the file of --approve.',
    lambda seen: '' if seen.trusted_mark and not seen.proof else None,
)
UNPROVEN = Obstacle.of(UNKNOWN, lambda seen: None if seen.proof else '')
TOO_YOUNG = Obstacle(
    'too-young',
    'its last sign of life is too recent',
    'Plan again later, or with a smaller --older-than.',
    _young,
)
BUSY = Obstacle.of(decisions.BUSY, _busy)

_Obstacles = tuple[Obstacle, ...]
_USED: _Obstacles = (
    *(IN_USE, LOCKED, CHILDREN, IN_GROUP, MIRRORED, MIGRATING),
)
_NOT_OURS: _Obstacles = (
    *(RECORDED, FOREIGN_POOL, FOREIGN, RELEASED, LATER),
    *(NEVER_RECORDED, UNPROVEN, TOO_YOUNG),
)
_OF_IMAGE: _Obstacles = (DAMAGED, OTHER_ID, *_USED, *_NOT_OURS)
_OF_ENTRY: _Obstacles = (
    *(NOT_IN_TRASH, DEFERRED, DAMAGED, *_USED),
    *(UNLISTED, NOT_A_REST, *_NOT_OURS),
)
_OF_SNAPSHOT: _Obstacles = (
    *(DAMAGED, OTHER_ID, IN_USE, LOCKED, OWNER_GONE, SNAPSHOT_GONE),
    *(CHILDREN, IN_GROUP, MIRRORED, MIGRATING),
    *(RECORDED, FOREIGN_POOL, UNPROVEN, VOLUME_GONE, BUSY, TOO_YOUNG),
)
_OF_NAME: _Obstacles = (
    *(OTHER_ID, UNLISTED, NOT_A_REST),
    *(RECORDED, FOREIGN_POOL, UNPROVEN, TOO_YOUNG),
)
_KILLED_MOVE = (
    'An entry in the trash and perhaps the name, which the audit finds as '
    'interrupted-trash-move; the same plan completes it.'
)
_KILLED_SNAPSHOT = 'The snapshot or none; the next plan has it.'


_ALL_PROOFS = (APPROVAL, RECORD, MARK)

TABLE: dict[findings.Kind, Leftover] = {
    each.kind: each
    for each in (
        Leftover(
            findings.ORPHAN_VOLUME,
            'An image volume-<uuid> whose uuid no volume has',
            _ALL_PROOFS,
            _OF_IMAGE,
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.ORPHAN_IMAGE,
            'An image <uuid> that Glance does not have',
            _ALL_PROOFS,
            _OF_IMAGE,
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.ORPHAN_DISK,
            'An image <uuid>_disk of a server that Nova does not have',
            # Nova does not tell in which pool the disk was.
            (APPROVAL, MARK),
            _OF_IMAGE,
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.DELETED_SOURCE,
            'An image volume-<uuid>.deleted without a clone',
            _ALL_PROOFS,
            _OF_IMAGE,
            Way.TRASH,
            _KILLED_MOVE,
        ),
        Leftover(
            findings.HALF_TRASHED,
            'A name whose image is in the trash',
            _ALL_PROOFS,
            _OF_ENTRY,
            Way.FINISH,
            'The same; the same plan completes it.',
            states=frozenset({_State.SETTLED, _State.MOVING}),
        ),
        Leftover(
            findings.IN_TRASH,
            'An image in the trash that a user moved there, whose deferment '
            'has ended',
            _ALL_PROOFS,
            _OF_ENTRY,
            Way.PURGE,
            'An entry that is being removed, perhaps without a header, or one '
            'with fewer snapshots; the next plan has it.',
            states=frozenset({_State.SETTLED, _State.REMOVING}),
        ),
        Leftover(
            findings.REMOVAL,
            'An image in the trash whose removal was interrupted',
            _ALL_PROOFS,
            _OF_ENTRY,
            Way.PURGE,
            'The same; the next plan has it.',
            source=objects.TrashSource.REMOVING,
        ),
        Leftover(
            findings.CLONE_SNAPSHOT,
            'A snapshot volume-<uuid>.clone_snap without a clone',
            # There is no trash for snapshots.
            (RECORD,),
            _OF_SNAPSHOT,
            Way.SNAPSHOT,
            _KILLED_SNAPSHOT,
        ),
        Leftover(
            findings.ORPHAN_BACKUP,
            'A snapshot backup.<uuid>.snap.<time> whose backup Cinder does '
            'not have',
            (RECORD,),
            _OF_SNAPSHOT,
            Way.SNAPSHOT,
            _KILLED_SNAPSHOT,
        ),
        Leftover(
            findings.HALF_REMOVED,
            'A name without a header, an entry in the trash or a data object '
            'in any pool',
            (APPROVAL, RECORD),
            _OF_NAME,
            Way.NAME,
            'The entry of the directory without the ID object; the next plan '
            'has it.',
        ),
    )
}
