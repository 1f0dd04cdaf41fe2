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


def examine(
    sources: evidence.Sources,
    ioctx: Any,
    kind: findings.Kind,
    pool: str,
    image: str,
    ident: str,
    ours: frozenset[str] = frozenset(),
    is_resumed: bool = False,
) -> outcomes.Outcome:
    """Return the planned removal of a leftover.

    It has seen the kind of finding, the proof, the last sign of life, the
    snapshots of the image, and the client that is gone and holds the lock.

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
    stale_lock = seen.clients.stale_owner
    needs = '; needs --break-stale-locks' if stale_lock else ''
    return outcomes.Outcome(
        *(outcomes.Status.PLANNED, pool, image, ident),
        f'{row.way.value}; {seen.proof}{needs}',
        project=seen.record.project,
        size=seen.size,
        seen={
            'kind': kind.code,
            'last_sign': str(seen.last_sign or ''),
            'snapshots': sorted(each.name for each in snapshots),
            'stale_lock': stale_lock,
            'proof': seen.proof,
        },
    )


@dataclasses.dataclass(frozen=True)
class Removal:
    """The removal of an item of a plan."""

    sources: evidence.Sources
    item: outcomes.Outcome
    ioctx: Any

    def make(self, ours: frozenset[str]) -> str:
        """Examine the leftover again, remove it and describe the removal.

        :param ours: names of the clients of earlier, killed runs
        :raises Refused: if it has changed, or must not be removed
        """
        item, ioctx = self.item, self.ioctx
        librbd = self.sources.cluster.librbd
        kind = findings.KINDS[item.seen['kind']]
        way = leftovers.TABLE[kind].way
        is_resumed = way is _Way.TRASH and self._entry() is not None
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
        if seen.seen['stale_lock']:
            self._break_lock()
        delay = self.sources.delay
        if way is _Way.TRASH:
            seconds = int(delay.total_seconds())
            librbd.RBD().trash_move(ioctx, item.image, seconds)
            done = f'moved to the trash for {delay}'
        elif way is _Way.FINISH:
            done = self._finish(int(delay.total_seconds()))
        elif way is _Way.PURGE:
            self._purge()
            done = f'deleted {item.ident}'
        elif way is _Way.SNAPSHOT:
            _, _, snapshot = item.image.partition('@')
            with self._opened() as image:
                _remove_snapshots(librbd, image, (snapshot,))
            done = 'deleted the snapshot'
        else:
            objects.forget_name(
                self.sources.cluster.librados, ioctx, item.image, item.ident
            )
            done = f'deleted the name of {item.ident}'
        return f'{done}; {seen.seen["proof"]}'

    def _entry(self) -> objects.Trashed | None:
        return objects.trash_entry(
            self.sources.cluster.librados,
            self.ioctx,
            self.item.pool,
            self.item.ident,
        )

    def _require_in_trash(self) -> None:
        """Check that nobody restores the image while it loses its snapshots.

        :raises Refused: otherwise
        """
        entry = self._entry()
        if entry is None or entry.state is objects.TrashState.RESTORING:
            raise _Refused(leftovers.CHANGED, 'it has been restored')

    def _require_same(self, now: outcomes.Outcome, ignored: set[str]) -> None:
        if not now.seen['stale_lock']:
            # The lock was broken, or is that of an earlier, killed run, which
            # librbd breaks.
            ignored = {*ignored, 'stale_lock'}
        before, after = (
            {**each.seen, 'size': each.size, 'project': each.project}
            for each in (self.item, now)
        )
        changed = [
            name
            for name in after
            if name not in ignored and before.get(name) != after[name]
        ]
        if changed:
            raise _Refused(leftovers.CHANGED, ', '.join(changed))

    def _break_lock(self) -> None:
        """Break the lock of a client that is gone, which is blocklisted."""
        owner = self.item.seen['stale_lock']
        if not self.sources.breaks_locks:
            raise _Refused(leftovers.STALE_LOCK, owner)
        with self._opened() as image:
            for client, cookie, address in list(
                (image.list_lockers() or {'lockers': []})['lockers']
            ):
                if address == owner:
                    image.break_lock(client, cookie)

    def _opened(self) -> Any:
        """Open the image by its ID: another one may have the name now."""
        librbd = self.sources.cluster.librbd
        return librbd.Image(self.ioctx, image_id=self.item.ident)

    def _finish(self, delay: int) -> str:
        librados, ioctx = self.sources.cluster.librados, self.ioctx
        name, ident = self.item.image, self.item.ident
        stored = objects.id_of(librados, ioctx, name)
        listed = objects.directory(librados, ioctx).get(name, '')
        for other in (listed, stored[0] if stored else ''):
            if other not in ('', ident):
                # librbd would move that image.
                raise _Refused(
                    leftovers.CHANGED, f'the name belongs to {other} now'
                )
        entry = self._entry()
        if entry and not entry.is_settled:
            # librbd finds the image by the state of its entry.
            rbd = self.sources.cluster.librbd.RBD()
            rbd.trash_move(ioctx, name, delay)
        elif listed:
            objects.forget_name(librados, ioctx, name, ident)
        return 'completed the move to the trash'

    def _purge(self) -> None:
        librbd = self.sources.cluster.librbd
        if snapshots := self.item.seen['snapshots']:
            with self._opened() as image:
                _remove_snapshots(
                    librbd, image, snapshots, self._require_in_trash
                )
        librbd.RBD().trash_remove(self.ioctx, self.item.ident, False)


def planned(
    audited: report.Report,
    sources: evidence.Sources,
    kinds: Container[str] = KINDS,
    patterns: Collection[str] = (),
    projects: Collection[str] = (),
    limit: int = 100,
) -> Iterator[outcomes.Outcome]:
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
                if examined.status is outcomes.Status.PLANNED:
                    if projects and examined.project not in projects:
                        continue
                    if not limit:
                        yield examined.refused(_Refused(LIMITED))
                        continue
                    limit -= 1
                yield examined


def _examined(
    finding: findings.Finding, sources: evidence.Sources, ioctx: Any
) -> outcomes.Outcome:
    about = outcomes.Outcome(
        *(outcomes.Status.UNCHANGED, finding.pool, finding.image),
        finding.ident,
        volume=finding.volume,
        project=finding.project,
    )
    items: list[outcomes.Outcome] = []

    def look() -> str:
        items.append(examine(sources, ioctx, finding.kind, *about.key))
        return ''

    outcome = changes.attempted(sources.cluster, ioctx, about, look)
    if items:
        return items[0]
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
