# SPDX-License-Identifier: Apache-2.0

"""Plans and makes changes of the object maps of selected images.

A run can take days at a low rate. Immediately before the change of an image,
the record of its volume is read again, and the rules are applied to it; the
image itself must be the one that was planned. Only features of the image and
its maps are changed, which contain no data. A kill leaves a map that is marked
as invalid, which librbd does not use, and which the next run rebuilds. It also
leaves the lock of the killed client, which the resumed run releases.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from rbd_volume_options import features
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import alive
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import object_maps
from rbd_volume_tools.fleet import recorded
from rbd_volume_tools.fleet import selection

_Status = outcomes.Status

#: Returns a volume at the moment of the call; None if there is none.
Current = Callable[[str], records.Volume | None]


@dataclasses.dataclass(frozen=True)
class MapChange:
    """A change of the object maps of an image.

    :ivar outcome: the image, and the plan as text; unchanged if only the lock
        of an earlier run may have to be released
    :ivar types: extra specs of each volume type
    :ivar current: reads the record of the volume
    """

    outcome: outcomes.Outcome
    action: decisions.Action
    target: selection.Target
    plan: decisions.Plan
    types: Mapping[str, Mapping[str, str]]
    cluster: scan.Cluster
    current: Current
    record: recorded.Recorder | None = None

    @property
    def size(self) -> int:
        """Provisioned bytes of the image and its snapshots."""
        image = self.target.image
        return image.size + sum(each.size for each in image.snapshots)

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Make the change and return a description of it.

        :raises Refused: if a client of the image forbids the change, or the
            image or its volume has changed so that it is not allowed
        :raises NotVerified: if a map is invalid afterwards, or the record was
            not corrected
        """
        self._check_volume()
        clients = alive.Clients(self.cluster, self.target.image.pool)
        image = self.target.image
        maps = object_maps.ObjectMaps(
            *(self.cluster.librbd, ioctx, image.name, image.ident),
            *(clients, ours),
        )
        for each in self.plan.change:
            if self.action is decisions.Action.DISABLE:
                maps.disable(each)
            else:
                maps.enable(each)
        rebuilt = maps.rebuild() if self.plan.rebuild else 0
        # librbd releases only the locks of this run.
        released = maps.release_lock()
        has_map = self.action is not decisions.Action.DISABLE
        made = maps.verify(has_map)
        volume = self.target.volume
        if self.plan.record and self.record and volume:
            self._correct(self.record, volume.ident, made)
        done = [
            f'{self.action.value}d {features.joined(each)}'
            for each in self.plan.change
        ]
        if rebuilt:
            done.append(f'rebuilt {rebuilt} maps')
        if self.plan.record:
            done.append('corrected the record')
        if released:
            done.append('released the lock of an earlier run')
        return '; '.join(done)

    def _correct(
        self, record: recorded.Recorder, ident: str, made: features.Features
    ) -> None:
        """Correct the record of a volume.

        :raises NotAnswered: if the database does not answer; the image has
            been changed, and the next run corrects the record
        :raises NotVerified: if the database has no record to correct, or is
            not that of the API, such as a copy
        """
        try:
            is_corrected = record(ident, made)
        # The libraries of the database raise classes of many modules.
        except Exception as error:
            raise outcomes.NotAnswered(f'The database: {error}') from error
        if not is_corrected or decisions.contradicts(
            self.current(ident), made
        ):
            raise outcomes.NotVerified(
                'the database does not have the record that Cinder shows of '
                f'volume {ident}: give the cinder.conf of this cloud'
            )

    def _check_volume(self) -> None:
        """Check that the volume still allows the change.

        :raises Refused: otherwise
        """
        before = self.target.volume
        if before is None:
            return
        volume = self.current(before.ident)
        if volume is None or (volume.image_id, volume.pool) != (
            before.image_id,
            before.pool,
        ):
            raise outcomes.Refused(
                decisions.REPLACED, 'the volume has changed'
            )
        obstacle = decisions.obstacle(
            self.action,
            dataclasses.replace(self.target, volume=volume),
            self.types,
            self.record is not None,
        )
        if obstacle:
            raise outcomes.Refused(*obstacle)


def planned(
    action: decisions.Action,
    targets: Sequence[selection.Target],
    known: records.Records,
    cluster: scan.Cluster,
    current: Current,
    record: recorded.Recorder | None = None,
) -> Iterator[MapChange | outcomes.Outcome]:
    """Yield the change of each image, or the reason against it.

    :param known: the cloud's records
    :param current: reads the record of a volume
    :param record: corrects Cinder's record; None without access to Cinder's
        database
    """
    copies = evidence.copied_disks(target.image for target in targets)
    for target in targets:
        about = _about(target)
        plan = decisions.plan(action, target)
        obstacle = decisions.obstacle_of_owner(target, known, copies)
        if not obstacle and (plan or action is not decisions.Action.DISABLE):
            obstacle = decisions.obstacle(
                action, target, known.types, record is not None
            )
        if obstacle:
            yield about.refused(outcomes.Refused(*obstacle))
            continue
        if plan:
            about = dataclasses.replace(
                about, status=_Status.PLANNED, detail=plan.describe(action)
            )
        yield MapChange(
            *(about, action, target, plan, known.types),
            *(cluster, current, record),
        )


def checked(
    targets: Iterable[selection.Target],
) -> Iterator[outcomes.Outcome]:
    """Yield the state of the maps of each image.

    An image without a map, or with an invalid map, counts as refused, because
    an operator has to act.
    """
    for target in targets:
        image = target.image
        states = [('head', image.map_state)]
        states += [(each.name, each.map_state) for each in image.snapshots]
        wrong = [
            f'{name}: {state.value}'
            for name, state in states
            if state.value != 'valid'
        ]
        about = _about(target)
        if not wrong:
            yield dataclasses.replace(
                about, detail=f'{len(states)} valid maps'
            )
            continue
        error = outcomes.Refused(INVALID, ', '.join(wrong))
        if features.OBJECT_MAP not in image.image_features:
            error = outcomes.Refused(decisions.NO_MAP)
        yield about.refused(error)


INVALID = outcomes.Reason(
    'object-map-invalid',
    'a map is invalid',
    'Rebuild it: cinder-rbd-ext object-map rebuild.',
)


def unreadable(pool: str, name: str, why: str) -> outcomes.Outcome:
    """Return the outcome of an image that cannot be opened.

    :param name: empty for a pool that the Ceph user may not read
    """
    remedy = '' if name else outcomes.READ
    return outcomes.Outcome(
        _Status.FAILED, pool, name, detail=why, remedy=remedy
    )


def _about(target: selection.Target) -> outcomes.Outcome:
    image, volume = target.image, target.volume
    return outcomes.Outcome(
        _Status.UNCHANGED,
        image.pool,
        image.name,
        image.ident,
        volume=volume.ident if volume else '',
        project=volume.project if volume else '',
    )
