# SPDX-License-Identifier: Apache-2.0

"""Changes of the object maps of an image, on one connection.

An image is opened by its name, and each time its ID is compared: a retype, a
re-image or an operator may have replaced the image since the plan.
"""

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from rbd_volume_options import features
from rbd_volume_options import image_handles
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import scan
from rbd_volume_tools.audit import use
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import alive
from rbd_volume_tools.fleet import decisions

# librbd has no flags other than RBD_FLAG_OBJECT_MAP_INVALID and
# RBD_FLAG_FAST_DIFF_INVALID.
_NO_FLAGS = 0

# Seconds to wait for the watch of a killed client to expire, which takes up to
# 30.
_EARLIER_SECONDS = 40


class ObjectMaps:
    """The object maps of an image and its snapshots.

    Each method raises ``Refused`` if another image has the name of the image.

    :param ioctx: of the pool
    :param name: name of the image
    :param ident: librbd's ID of the image
    :param ours: names of the Ceph clients of earlier, killed runs
    """

    def __init__(
        self,
        cluster: scan.Cluster,
        ioctx: Any,
        pool: str,
        name: str,
        ident: str,
        ours: frozenset[str] = frozenset(),
    ) -> None:
        self._cluster = cluster
        self._rbd = cluster.librbd
        self._ioctx = ioctx
        self._pool = pool
        self._name = name
        self._ident = ident
        self._ours = ours

    @contextlib.contextmanager
    def _opened(self, read_only: bool = False) -> Iterator[Any]:
        """Open the image.

        :raises Refused: if another image has its name now
        """
        with self._rbd.Image(
            self._ioctx, self._name, read_only=read_only
        ) as image:
            ident = image.id()
            if ident != self._ident:
                raise outcomes.Refused(
                    decisions.REPLACED, f'{ident}, not {self._ident}'
                )
            yield image

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Any]:
        """Open the image for a change that takes the lock from no client.

        :raises Refused: if a change could take the lock from a client
        """
        with contextlib.ExitStack() as stack:
            if self._in_use():
                stack.enter_context(
                    alive.answering(
                        *(self._cluster, self._pool, self._name, self._ident)
                    )
                )
            self._check_use()
            yield stack.enter_context(self._opened())

    def _in_use(self) -> bool:
        """Return whether other clients have the image open.

        The client of a killed run does not answer. Its watch expires after a
        while.
        """
        for waited in range(_EARLIER_SECONDS):
            if waited:
                time.sleep(1)
            with self._opened(read_only=True) as image:
                usage = use.of_image(image, self._ours)
            if not (usage.watchers and usage.has_earlier):
                break
        return bool(usage.watchers)

    def _check_use(self) -> None:
        with self._opened(read_only=True) as image:
            enabled = features.from_mask(image.features())
            usage = use.of_image(image, self._ours)
        if obstacle := decisions.obstacle_in_use(enabled, usage):
            raise outcomes.Refused(*obstacle)

    def enable(self, wanted: features.Features) -> None:
        """Enable the features that the image lacks.

        :raises Refused: if the use of the image forbids it
        """
        with self._changing() as image:
            image_handles.set_features(image, wanted, True)

    def disable(self, unwanted: features.Features) -> None:
        """Disable the features that the image has.

        :raises Refused: if the use of the image forbids it
        """
        with self._changing() as image:
            image_handles.set_features(image, unwanted, False)

    def rebuild(self) -> int:
        """Rebuild the invalid maps of the image and of its snapshots.

        Rebuilding the map of a snapshot needs no lock, because a snapshot does
        not change.

        :returns: the number of maps that were rebuilt
        :raises Refused: if the use of the image forbids it
        """
        with self._opened(read_only=True) as image:
            head: bool = image.flags() != _NO_FLAGS
            snapshots = list(_invalid_snapshots(image))
        if head:
            with self._changing() as image:
                image.rebuild_object_map()
        for ident in snapshots:
            # The snapshot may have been deleted in the meantime.
            with (
                contextlib.suppress(self._rbd.ImageNotFound),
                self._opened() as image,
            ):
                image.set_snap_by_id(ident)
                image.rebuild_object_map()
        return head + len(snapshots)

    def release_lock(self) -> bool:
        """Release the lock of an earlier run; return whether there was one.

        librbd breaks the lock when another client, here this one, acquires it,
        and blocklists the killed client.

        :raises Refused: if the use of the image forbids it
        """
        if not self._ours:
            return False
        with self._opened(read_only=True) as image:
            locks = image.list_lockers() or {'lockers': []}
        if not any(each[0] in self._ours for each in locks['lockers']):
            return False
        with self._changing() as image:
            image.lock_acquire(self._rbd.RBD_LOCK_MODE_EXCLUSIVE)
            image.lock_release()
        return True

    def verify(self, has_map: bool) -> None:
        """Check that all object maps of the image are valid.

        :raises NotVerified: if a map is invalid, or the features differ from
            the plan
        """
        with self._opened(read_only=True) as image:
            enabled = features.from_mask(image.features())
            flags = image.flags()
            invalid = list(_invalid_snapshots(image))
        if (features.OBJECT_MAP in enabled) is not has_map:
            raise outcomes.NotVerified(
                f'the features are {features.joined(enabled)}'
            )
        if flags or invalid:
            raise outcomes.NotVerified(
                f'the flags of the image are {flags}, and those of '
                f'{len(invalid)} snapshots are not empty'
            )


def _invalid_snapshots(image: Any) -> Iterator[int]:
    """Yield the ids of snapshots whose maps are invalid."""
    for each in list(image.list_snaps()):
        with images.at(image, each['id']):
            if image.flags() != _NO_FLAGS:
                yield each['id']
