# SPDX-License-Identifier: Apache-2.0

"""Plans and makes changes of the object maps of selected images.

A run can take days at a low rate. Immediately before the change of an image,
the image and the record of its volume are read again, and the rules are
applied to them. Only features of the image and its maps are changed, which
contain no data. A kill leaves a map that is marked as invalid, which librbd
does not use, and which the next run rebuilds. It also leaves the lock of the
killed client, which the resumed run releases.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from typing import Any

from rbd_volume_options import features
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import object_maps
from rbd_volume_tools.fleet import selection

#: Returns a volume at the moment of the call; None if there is none.
Current = Callable[[str], records.Volume | None]


@dataclasses.dataclass(frozen=True)
class MapChanges:
    """Changes of the object maps of images.

    :ivar known: the cloud's records, of the plan
    :ivar current: reads the record of a volume
    """

    action: decisions.Action
    known: records.Records
    cluster: scan.Cluster
    current: Current

    def make(
        self, item: outcomes.Outcome, ioctx: Any, ours: frozenset[str]
    ) -> str:
        """Make the change of an image and return a description of it.

        :raises Refused: if a client of the image forbids the change, or the
            image or its volume has changed so that it is not allowed
        :raises Unneeded: if there is nothing to change
        :raises NotVerified: if a map is invalid afterwards
        """
        target = self._target(item)
        plan = decisions.plan(self.action, target)
        maps = object_maps.ObjectMaps(
            *(self.cluster, ioctx, item.pool, item.image, item.ident), ours
        )
        for each in plan.change:
            if self.action is decisions.Action.DISABLE:
                maps.disable(each)
            else:
                maps.enable(each)
        rebuilt = maps.rebuild() if plan.rebuild else 0
        # librbd releases only the locks of this run.
        released = maps.release_lock()
        maps.verify(self.action is not decisions.Action.DISABLE)
        done = [
            f'{self.action.value}d {features.joined(each)}'
            for each in plan.change
        ]
        if rebuilt:
            done.append(f'rebuilt {rebuilt} maps')
        if released:
            done.append('released the lock of an earlier run')
        if not done:
            raise outcomes.Unneeded('nothing to change')
        return '; '.join(done)

    def _target(self, item: outcomes.Outcome) -> selection.Target:
        """Return the image and its volume as they are now.

        :raises Refused: if they are others, or do not allow the change
        """
        known = self.known
        volume = None
        if item.volume:
            volume = self.current(item.volume)
            if volume is None or volume.image_name != item.image:
                raise outcomes.Refused(
                    decisions.REPLACED, 'the volume has changed'
                )
        elif not selection.Selection(images=True, servers=True).of_name(
            known, item.image
        )[0]:
            raise outcomes.Refused(decisions.REPLACED, 'its owner is gone')
        image = self.cluster.read(item.pool, item.image)
        if image.ident != item.ident:
            raise outcomes.Refused(
                decisions.REPLACED, f'{image.ident}, not {item.ident}'
            )
        target = selection.Target(image, volume)
        obstacle = decisions.obstacle_of_owner(target, known)
        if obstacle := obstacle or decisions.obstacle(
            *(self.action, target, known.types)
        ):
            raise outcomes.Refused(*obstacle)
        return target


def planned(
    action: decisions.Action,
    targets: Sequence[selection.Target],
    known: records.Records,
) -> Iterator[outcomes.Outcome]:
    """Yield the change of each image, or the reason against it."""
    copies = images.copied_disks(target.image for target in targets)
    for target in targets:
        about = _about(target)
        plan = decisions.plan(action, target)
        obstacle = decisions.obstacle_of_owner(target, known, copies)
        if not obstacle and (plan or action is not decisions.Action.DISABLE):
            obstacle = decisions.obstacle(action, target, known.types)
        if obstacle:
            yield about.refused(outcomes.Refused(*obstacle))
        elif plan:
            image = target.image
            yield dataclasses.replace(
                about,
                status=outcomes.Status.PLANNED,
                detail=plan.describe(action),
                size=image.size + sum(each.size for each in image.snapshots),
            )
        else:
            yield about


def _about(target: selection.Target) -> outcomes.Outcome:
    image, volume = target.image, target.volume
    return outcomes.Outcome(
        outcomes.Status.UNCHANGED,
        image.pool,
        image.name,
        image.ident,
        volume=volume.ident if volume else '',
        project=volume.project if volume else '',
    )
