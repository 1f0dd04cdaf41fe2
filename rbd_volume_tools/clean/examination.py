# SPDX-License-Identifier: Apache-2.0

"""Examines leftovers that the audit finds.

An image is examined in the same way for a plan and immediately before it is
removed.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
import functools
from typing import Any
from typing import NamedTuple

from rbd_volume_options import ownership
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import scan
from rbd_volume_tools.audit import use
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions

_Reason, _Refused = outcomes.Reason, outcomes.Refused


@dataclasses.dataclass(frozen=True)
class Rules:
    """Limits of removals.

    :ivar delay: time for which images stay in the trash
    :ivar older_than: minimum time since the last sign of life
    :ivar breaks_locks: whether locks of clients that are gone are broken
    :ivar now: returns the current time
    """

    delay: datetime.timedelta
    older_than: datetime.timedelta
    breaks_locks: bool = False
    now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(
        datetime.timezone.utc
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


@dataclasses.dataclass
class _Facts:
    """What an open image shows.

    :ivar created: when it was created, or got its name if that was later
    """

    size: int = 0
    signs: list[datetime.datetime] = dataclasses.field(default_factory=list)
    snapshots: tuple[str, ...] = ()
    stale_lock: str = ''
    owner: str = ''
    created: datetime.datetime | None = None


class _Place(NamedTuple):
    """Where a leftover is; see :meth:`Examiner.examine`."""

    ioctx: Any
    pool: str
    image: str
    ident: str
    ours: frozenset[str]


class Examiner:
    """Examines leftovers, for a plan and for its execution."""

    def __init__(
        self,
        cluster: scan.Cluster,
        proofs: evidence.Evidence,
        rules: Rules,
        progress: Callable[[str, int], None] = lambda pool, number: None,
    ) -> None:
        self.cluster = cluster
        self.rules = rules
        self._rados = cluster.librados
        self._rbd = cluster.librbd
        self._proofs = proofs
        self._progress = progress
        self._owners: dict[str, set[names.Owner]] = {}

    @functools.cached_property
    def _inventory(self) -> objects.Inventory:
        """All objects of the cluster, listed once in a run.

        No client can write new data of an image without a header.
        """
        return self.cluster.inventory(self._progress)

    def examine(
        self,
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
        :param is_resumed: whether an earlier run has begun the removal, so
            that the last sign of life may be its own
        :raises Refused: if it must not be removed
        """
        row = leftovers.TABLE.get(kind)
        if row is None:
            raise _Refused(
                _Reason(
                    leftovers.NOT_CLEANABLE,
                    f'{kind.code} cannot be removed safely',
                    _INSTEAD.get(kind, kind.remedy),
                )
            )
        at = _Place(ioctx, pool, image, ident, ours)
        way = row.way
        if way is leftovers.Way.SNAPSHOT:
            facts, proof = self._snapshot(at)
        else:
            if way is leftovers.Way.TRASH:
                facts = self._image(at)
            elif way is leftovers.Way.NAME:
                facts = self._name(at)
            else:
                facts = self._trashed(at, row)
            proof = self._proven(at, facts)
        if proof.how not in row.proofs:
            raise _Refused(evidence.UNKNOWN, proof.text)
        if proof.since:
            facts.signs.append(proof.since)
        last_sign = max(facts.signs, default=None)
        if (
            last_sign is not None
            and not is_resumed
            and self.rules.now() - last_sign < self.rules.older_than
        ):
            raise _Refused(
                leftovers.TOO_YOUNG, f'{last_sign:%Y-%m-%d %H:%M} UTC'
            )
        return Item(
            kind.code,
            pool,
            image,
            ident,
            facts.size,
            last_sign.isoformat() if last_sign else '',
            facts.snapshots,
            facts.stale_lock,
            proof.text,
            proof.project,
        )

    def _owners_in(self, at: _Place) -> set[names.Owner]:
        if at.pool not in self._owners:
            listed = set(objects.directory(self._rados, at.ioctx))
            self._owners[at.pool] = self._proofs.owners_in(at.pool, listed)
        return self._owners[at.pool]

    def _proven(self, at: _Place, facts: _Facts) -> evidence.Proof:
        """Return the proof for an image without a record.

        :raises Refused: if it, or one of its snapshots, has a record, or
            without a proof
        """
        name = names.of_image(at.image)
        self._proofs.require_no_record(name)
        for each in facts.snapshots:
            self._proofs.require_no_record(names.of_snapshot(each))
        return self._proofs.proof(
            at.pool,
            at.ident,
            name,
            facts.owner,
            self._owners_in(at),
            facts.created,
        )

    def _require_harmless(
        self, at: _Place, name: str = '', ident: str = ''
    ) -> None:
        try:
            self.cluster.require_harmless(at.pool, name, ident)
        except reading.NotRead as error:
            raise _Refused(leftovers.DAMAGED, str(error)) from error

    def _image(self, at: _Place) -> _Facts:
        self._require_harmless(at, at.image)
        with self._rbd.Image(at.ioctx, at.image, read_only=True) as opened:
            if opened.id() != at.ident:
                raise _Refused(
                    leftovers.CHANGED, f'the image has the ID {opened.id()}'
                )
            facts = self._facts(at, opened)
        # Somebody who restored or renamed an image wants to keep it.
        named = objects.named_at(self._rados, at.ioctx, at.image)
        if named and facts.created:
            facts.signs.append(named)
            facts.created = max(facts.created, named)
        return facts

    def _facts(self, at: _Place, image: Any) -> _Facts:
        """Return the facts about an image that nothing uses or needs.

        :raises Refused: if something does
        """
        clients = use.of_image(image, at.ours)
        _require_unused(clients)
        snapshots = list(image.list_snaps())
        for each in snapshots:
            _require_no_children(image, each['id'])
        self._require_alone(image)
        return _Facts(
            image.size(),
            [
                images.utc(image.create_timestamp()),
                images.latest(image.modify_timestamp()),
                images.latest(image.access_timestamp()),
                *(
                    images.utc(image.get_snap_timestamp(s['id']))
                    for s in snapshots
                ),
            ],
            tuple(sorted(each['name'] for each in snapshots)),
            clients.stale_owner,
            ownership.owner_of(
                dict(image.metadata_list()), at.ioctx.get_pool_id(), at.ident
            ),
            images.utc(image.create_timestamp()),
        )

    def _require_alone(self, image: Any) -> None:
        """Check that no group, mirror or migration of librbd has an image.

        :raises Refused: otherwise
        """
        if image.group()['name']:
            raise _Refused(leftovers.IN_GROUP, image.group()['name'])
        mirrored = image.mirror_image_get_info()['state']
        if mirrored != self._rbd.RBD_MIRROR_IMAGE_DISABLED:
            raise _Refused(leftovers.MIRRORED)
        if image.features() & self._rbd.RBD_FEATURE_MIGRATING:
            raise _Refused(leftovers.MIGRATING)

    def _trashed(self, at: _Place, row: leftovers.Leftover) -> _Facts:
        entry = objects.trash_entry(self._rados, at.ioctx, at.pool, at.ident)
        if entry is None or entry.name != at.image:
            raise _Refused(leftovers.CHANGED, 'it is not in the trash')
        expires = f'{entry.source.name}, {entry.expires:%Y-%m-%d %H:%M}'
        if entry.source is not row.source:
            raise _Refused(leftovers.DEFERRED, expires)
        if row.states and entry.state not in row.states:
            raise _Refused(leftovers.DEFERRED, f'it is {entry.state.name}')
        is_purge = row.way is leftovers.Way.PURGE
        if is_purge and entry.expires > self.rules.now():
            raise _Refused(leftovers.DEFERRED, expires)
        if objects.has_header(self._rados, at.ioctx, at.ident):
            self._require_harmless(at, ident=at.ident)
            with self._rbd.Image(
                at.ioctx, image_id=at.ident, read_only=True
            ) as opened:
                facts = self._facts(at, opened)
        else:
            self._require_no_data(at)
            facts = _Facts()
        facts.signs.append(entry.moved)
        return facts

    def _name(self, at: _Place) -> _Facts:
        stored = objects.id_of(self._rados, at.ioctx, at.image)
        if stored and stored[0] != at.ident:
            raise _Refused(
                leftovers.CHANGED, f'the image has the ID {stored[0]}'
            )
        if objects.trash_entry(self._rados, at.ioctx, at.pool, at.ident):
            raise _Refused(leftovers.NOT_A_REST, 'it is in the trash')
        if objects.has_header(self._rados, at.ioctx, at.ident):
            raise _Refused(leftovers.NOT_A_REST, 'its header')
        self._require_no_data(at)
        return _Facts()

    def _require_no_data(self, at: _Place) -> None:
        for pool, why in self._inventory.unlisted.items():
            raise _Refused(leftovers.UNLISTED, f'{pool}: {why}')
        place = (at.ioctx.get_pool_id(), at.ident)
        number = self._inventory.data.get(place, 0)
        if number:
            raise _Refused(leftovers.NOT_A_REST, f'{number} objects of data')

    def _snapshot(self, at: _Place) -> tuple[_Facts, evidence.Proof]:
        image_name, _, snapshot = at.image.partition('@')
        self._require_harmless(at, image_name)
        with self._rbd.Image(at.ioctx, image_name, read_only=True) as image:
            clients = use.of_image(image, at.ours)
            if image.id() != at.ident:
                raise _Refused(
                    leftovers.CHANGED, f'the image has the ID {image.id()}'
                )
            _require_unused(clients)
            if clients.stale_owner:
                # librbd would blocklist it. The volume may be that of a
                # server whose host has lost only its network.
                raise _Refused(decisions.OWNER_GONE, clients.stale_owner)
            for each in list(image.list_snaps()):
                if each['name'] == snapshot:
                    break
            else:
                raise _Refused(leftovers.CHANGED, 'the snapshot is gone')
            _require_no_children(image, each['id'])
            self._require_alone(image)
            facts = _Facts(
                each['size'],
                [images.utc(image.get_snap_timestamp(each['id']))],
            )
        owner = names.of_image(image_name)
        name = names.of_snapshot(snapshot)
        self._proofs.require_no_record(name)
        proof = self._proofs.proof_of_snapshot(
            at.pool, owner, name, self._owners_in(at)
        )
        volume = self._proofs.volume(owner.ident)
        if volume is None and owner.owner is names.Owner.VOLUME:
            raise _Refused(
                leftovers.CHANGED, f'Cinder has no volume {owner.ident}'
            )
        if volume and (busy := decisions.obstacle_of_status(volume)):
            # A retype reads all snapshots. It only reads, so that no watch
            # shows it.
            raise _Refused(*busy)
        return facts, proof


def _require_unused(clients: use.Use) -> None:
    """Check that no client has an image open, and none has locked it by hand.

    :raises Refused: otherwise
    """
    if clients.watchers:
        raise _Refused(leftovers.IN_USE, ', '.join(sorted(clients.watchers)))
    if clients.is_manual:
        raise _Refused(decisions.LOCKED, clients.owner)


def _require_no_children(image: Any, snapshot: int) -> None:
    """Check that a snapshot has no clones, including clones in the trash."""
    with images.at(image, snapshot):
        children = [
            f'{each["pool"]}/{each["image"]}'
            for each in image.list_children2()
        ]
    if children:
        raise _Refused(leftovers.CHILDREN, ', '.join(children))


_MAPS = 'Use cinder-rbd-ext object-map plan.'

#: Remedies that replace those of the audit.
_INSTEAD: Mapping[findings.Kind, str] = {
    findings.MAP_INVALID: _MAPS,
    findings.SNAPSHOT_MAP_INVALID: _MAPS,
    findings.SLOW_DELETION: _MAPS,
    findings.ORPHAN_SNAPSHOT: 'A snapshot cannot be moved to the trash. '
    'Check whose it is, and remove it with rbd snap rm only if Cinder has '
    'deleted it.',
}
