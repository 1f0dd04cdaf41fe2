# SPDX-License-Identifier: Apache-2.0

"""Plans and makes the removal of leftovers that the audit finds.

Each is examined in the same way for a plan and immediately before its removal.
What differs from the plan by then is refused. What a kill leaves is in
:mod:`.leftovers`.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterator
import dataclasses
import fnmatch
from typing import Any

from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import outcomes

_Way, _Refused = evidence.Way, outcomes.Refused
KINDS = frozenset(each.code for each in leftovers.TABLE)
LIMITED = outcomes.Reason(
    'limit',
    'the plan already has as many items as --limit allows',
    'Apply this plan, then make another one.',
)


@dataclasses.dataclass(frozen=True)
class Item:
    """A leftover that may be removed, as the examination has seen it.

    :ivar kind: code of the kind of finding
    :ivar image: name of the image, with ``@snapshot`` for a snapshot
    :ivar ident: librbd's id of the image
    :ivar size: provisioned bytes
    :ivar last_sign: creation, modification, access, deletion of the owner or
        move to the trash, whichever is last
    :ivar snapshots: names of the snapshots of the image
    :ivar stale_lock: client that is gone and holds the lock; empty for none
    :ivar proof: why it belongs to this cloud
    """

    kind: str
    pool: str
    image: str
    ident: str
    size: int
    last_sign: str
    snapshots: tuple[str, ...]
    stale_lock: str
    proof: str
    project: str = ''


def examine(
    sources: evidence.Sources,
    ioctx: Any,
    kind: findings.Kind,
    pool: str,
    image: str,
    ident: str,
    ours: frozenset[str] = frozenset(),
    is_resumed: bool = False,
) -> Item:
    """Return what a plan says about a leftover.

    :param ident: the id of the image when it was found
    :param ours: names of the clients of earlier, killed runs
    :param is_resumed: whether an earlier run has begun the removal, so that
        the last sign of life may be its own
    :raises Refused: if it must not be removed
    """
    row = leftovers.TABLE[kind]
    seen = evidence.Evidence(
        *(sources, row, ioctx, pool, image, ident, ours, is_resumed)
    )
    for obstacle in row.never:
        details = obstacle.found(seen)
        if details is not None:
            raise _Refused(obstacle, details)
    snapshots = () if seen.snapshot else seen.snapshots
    return Item(
        *(kind.code, pool, image, ident, seen.size),
        seen.last_sign.isoformat() if seen.last_sign else '',
        tuple(sorted(each.name for each in snapshots)),
        seen.clients.stale_owner,
        seen.proof,
        seen.record.project,
    )


@dataclasses.dataclass(frozen=True)
class Removal:
    """The removal of an item of a plan.

    :ivar size: 0, because a removal reads no data of the image
    """

    item: Item
    sources: evidence.Sources
    size: int = 0
    percent: int | None = None

    @property
    def outcome(self) -> outcomes.Outcome:
        """The item, planned."""
        way = leftovers.TABLE[findings.KINDS[self.item.kind]].way
        lock = '; needs --break-stale-locks' if self.item.stale_lock else ''
        return outcomes.Outcome(
            outcomes.Status.PLANNED,
            self.item.pool,
            self.item.image,
            self.item.ident,
            detail=f'{way.value}; {self.item.proof}{lock}',
            project=self.item.project,
        )

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Examine the leftover again, remove it and describe the removal.

        :raises Refused: if it has changed, or must not be removed
        """
        item, librbd = self.item, self.sources.cluster.librbd
        kind = findings.KINDS[item.kind]
        way = leftovers.TABLE[kind].way
        is_resumed = way is _Way.TRASH and self._entry(ioctx) is not None
        if is_resumed:
            # An earlier run was killed during the move.
            kind, way = findings.HALF_TRASHED, _Way.FINISH
        seen = examine(
            *(self.sources, ioctx, kind, item.pool, item.image, item.ident),
            *(ours, is_resumed),
        )
        self._require_same(
            seen, {'kind', 'last_sign'} if is_resumed else set()
        )
        if seen.stale_lock:
            self._break_lock(ioctx)
        delay = self.sources.delay
        if way is _Way.TRASH:
            seconds = int(delay.total_seconds())
            librbd.RBD().trash_move(ioctx, item.image, seconds)
            done = f'moved to the trash for {delay}'
        elif way is _Way.FINISH:
            done = self._finish(ioctx, int(delay.total_seconds()))
        elif way is _Way.PURGE:
            self._purge(ioctx)
            done = f'deleted {item.ident}'
        elif way is _Way.SNAPSHOT:
            _, _, snapshot = item.image.partition('@')
            # Another image may get the name now.
            with librbd.Image(ioctx, image_id=item.ident) as image:
                _remove_snapshots(librbd, image, (snapshot,))
            done = 'deleted the snapshot'
        else:
            objects.forget_name(
                self.sources.cluster.librados, ioctx, item.image, item.ident
            )
            done = f'deleted the name of {item.ident}'
        return f'{done}; {item.proof}'

    def _entry(self, ioctx: Any) -> objects.Trashed | None:
        return objects.trash_entry(
            self.sources.cluster.librados,
            ioctx,
            self.item.pool,
            self.item.ident,
        )

    def _require_in_trash(self, ioctx: Any) -> None:
        """Check that nobody restores the image while it loses its snapshots.

        :raises Refused: otherwise
        """
        entry = self._entry(ioctx)
        if entry is None or entry.state is objects.TrashState.RESTORING:
            raise _Refused(leftovers.CHANGED, 'it has been restored')

    def _require_same(self, seen: Item, ignored: set[str]) -> None:
        if not seen.stale_lock:
            # The lock was broken, or is that of an earlier, killed run, which
            # librbd breaks.
            ignored = {*ignored, 'stale_lock'}
        changed = [
            field.name
            for field in dataclasses.fields(Item)
            if field.name not in ignored
            and getattr(seen, field.name) != getattr(self.item, field.name)
        ]
        if changed:
            raise _Refused(leftovers.CHANGED, ', '.join(changed))

    def _break_lock(self, ioctx: Any) -> None:
        """Break the lock of a client that is gone, which is blocklisted."""
        if not self.sources.breaks_locks:
            raise _Refused(leftovers.STALE_LOCK, self.item.stale_lock)
        how = {'image_id': self.item.ident}
        with self.sources.cluster.librbd.Image(ioctx, **how) as image:
            for client, cookie, address in list(
                (image.list_lockers() or {'lockers': []})['lockers']
            ):
                if address == self.item.stale_lock:
                    image.break_lock(client, cookie)

    def _finish(self, ioctx: Any, delay: int) -> str:
        librados = self.sources.cluster.librados
        name, ident = self.item.image, self.item.ident
        stored = objects.id_of(librados, ioctx, name)
        listed = objects.directory(librados, ioctx).get(name, '')
        for other in (listed, stored[0] if stored else ''):
            if other not in ('', ident):
                # librbd would move that image.
                raise _Refused(
                    leftovers.CHANGED, f'the name belongs to {other} now'
                )
        entry = self._entry(ioctx)
        if entry and not entry.is_settled:
            # librbd finds the image by the state of its entry.
            rbd = self.sources.cluster.librbd.RBD()
            rbd.trash_move(ioctx, name, delay)
        elif listed:
            objects.forget_name(librados, ioctx, name, ident)
        return 'completed the move to the trash'

    def _purge(self, ioctx: Any) -> None:
        librbd = self.sources.cluster.librbd
        if self.item.snapshots:
            with librbd.Image(ioctx, image_id=self.item.ident) as image:
                _remove_snapshots(
                    librbd,
                    image,
                    self.item.snapshots,
                    lambda: self._require_in_trash(ioctx),
                )
        librbd.RBD().trash_remove(ioctx, self.item.ident, False)


def planned(
    audited: report.Report,
    sources: evidence.Sources,
    kinds: Container[str] = KINDS,
    patterns: Collection[str] = (),
    projects: Collection[str] = (),
    limit: int = 100,
) -> Iterator[Removal | outcomes.Outcome]:
    """Yield the removal of each selected finding, or the reason against it.

    :param kinds: codes of kinds
    :param patterns: of names, with ``*`` and ``?``; empty for all
    :param projects: ids; empty for all
    :param limit: maximum number of removals
    """
    by_pool: dict[str, list[findings.Finding]] = {}
    for each in audited.found:
        is_named = not patterns or any(
            fnmatch.fnmatchcase(each.image, pattern) for pattern in patterns
        )
        if each.kind.code in kinds and is_named:
            by_pool.setdefault(each.pool, []).append(each)
    for pool, chosen in by_pool.items():
        with sources.cluster.connected(pool) as (_, ioctx):
            for each in chosen:
                examined = _examined(each, sources, ioctx)
                if isinstance(examined, Removal):
                    if projects and examined.item.project not in projects:
                        continue
                    if not limit:
                        yield examined.outcome.refused(_Refused(LIMITED))
                        continue
                    limit -= 1
                yield examined


def _examined(
    finding: findings.Finding, sources: evidence.Sources, ioctx: Any
) -> Removal | outcomes.Outcome:
    about = outcomes.Outcome(
        *(outcomes.Status.UNCHANGED, finding.pool, finding.image),
        finding.ident,
        volume=finding.volume,
        project=finding.project,
    )
    items: list[Item] = []

    def look() -> str:
        items.append(examine(sources, ioctx, finding.kind, *about.key))
        return ''

    outcome = changes.attempted(sources.cluster, ioctx, about, look)
    if items:
        return Removal(items[0], sources)
    if outcome.code == leftovers.UNKNOWN.code:
        return dataclasses.replace(outcome, status=outcomes.Status.UNKNOWN)
    return outcome


def _remove_snapshots(
    librbd: Any,
    image: Any,
    chosen: Container[str],
    require: Callable[[], None] = lambda: None,
) -> None:
    """Remove snapshots by their ids.

    librbd finds only snapshots of users by their names, not those in its
    trash, where they are until their last clone is removed.

    :param chosen: their names
    :param require: called before each removal
    """
    for each in list(image.list_snaps()):
        name = each['name']
        if name not in chosen:
            continue
        require()
        is_user = each['namespace'] == librbd.RBD_SNAP_NAMESPACE_TYPE_USER
        if is_user and image.is_protected_snap(name):
            image.unprotect_snap(name)
        image.remove_snap_by_id(each['id'])
