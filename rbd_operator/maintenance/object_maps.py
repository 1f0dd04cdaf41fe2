# SPDX-License-Identifier: Apache-2.0

"""Changes of the object maps of an image, on one connection."""

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from rbd_operator.audit import images
from rbd_operator.audit import use
from rbd_operator.maintenance import alive
from rbd_operator.maintenance import decisions
from rbd_operator.maintenance import outcomes
from rbd_volume_options import features

# librbd has no flags other than RBD_FLAG_OBJECT_MAP_INVALID and
# RBD_FLAG_FAST_DIFF_INVALID.
_NO_FLAGS = 0

# Seconds to wait for the watch of a killed client to expire, which takes up to
# 30.
_EARLIER_SECONDS = 40


class ObjectMaps:
    """The object maps of a pool's images.

    :param librbd: the module ``rbd``
    :param ioctx: of the pool
    :param clients: checks the clients that have the images open
    :param ours: names of the Ceph clients of earlier, killed runs
    """

    def __init__(
        self,
        librbd: Any,
        ioctx: Any,
        clients: alive.Clients,
        ours: frozenset[str] = frozenset(),
    ) -> None:
        self._rbd = librbd
        self._ioctx = ioctx
        self._clients = clients
        self._ours = ours

    @contextlib.contextmanager
    def _changing(self, name: str) -> Iterator[Any]:
        """Open an image for a change that takes the lock from no client.

        :raises Refused: if a change could take the lock from a client
        """
        with contextlib.ExitStack() as stack:
            if ident := self._in_use(name):
                stack.enter_context(self._clients.answering(name, ident))
            self._check_use(name)
            yield stack.enter_context(self._rbd.Image(self._ioctx, name))

    def _in_use(self, name: str) -> str:
        """Return the ID of an image that other clients have open, else "".

        The client of a killed run does not answer. Its watch expires after a
        while.
        """
        for waited in range(_EARLIER_SECONDS):
            if waited:
                time.sleep(1)
            with self._rbd.Image(self._ioctx, name, read_only=True) as image:
                found = use.of_image(image, self._ours)
                ident: str = image.id() if found.watchers else ''
            if not (found.watchers and found.has_earlier):
                break
        return ident

    def _check_use(self, name: str) -> None:
        with self._rbd.Image(self._ioctx, name, read_only=True) as image:
            there = features.from_mask(image.features())
            found = use.of_image(image, self._ours)
        if obstacle := decisions.obstacle_in_use(there, found):
            raise outcomes.Refused(*obstacle)

    def enable(self, name: str, wanted: features.Features) -> None:
        """Enable the features that an image lacks.

        :raises Refused: if the use of the image forbids it
        """
        with self._changing(name) as image:
            missing = wanted - features.from_mask(image.features())
            if missing:
                image.update_features(features.to_mask(missing), True)

    def disable(self, name: str, unwanted: features.Features) -> None:
        """Disable the features that an image has.

        :raises Refused: if the use of the image forbids it
        """
        with self._changing(name) as image:
            present = unwanted & features.from_mask(image.features())
            if present:
                image.update_features(features.to_mask(present), False)

    def rebuild(self, name: str) -> int:
        """Rebuild the invalid maps of an image and of its snapshots.

        Rebuilding the map of a snapshot needs no lock, because a snapshot does
        not change.

        :returns: the number of maps that were rebuilt
        :raises Refused: if the use of the image forbids it
        """
        with self._rbd.Image(self._ioctx, name, read_only=True) as image:
            head: bool = image.flags() != _NO_FLAGS
            snapshots = list(_invalid_snapshots(image))
        if head:
            with self._changing(name) as image:
                image.rebuild_object_map()
        for ident in snapshots:
            # The snapshot may have been deleted in the meantime.
            with (
                contextlib.suppress(self._rbd.ImageNotFound),
                self._rbd.Image(self._ioctx, name) as image,
            ):
                image.set_snap_by_id(ident)
                image.rebuild_object_map()
        return head + len(snapshots)

    def verify(self, name: str, has_map: bool) -> features.Features:
        """Check that all object maps of an image are valid.

        :returns: the features of the image
        :raises NotVerified: if a map is invalid, or the features differ from
            the plan
        """
        with self._rbd.Image(self._ioctx, name, read_only=True) as image:
            there = features.from_mask(image.features())
            flags = image.flags()
            invalid = list(_invalid_snapshots(image))
        if (features.OBJECT_MAP in there) is not has_map:
            raise outcomes.NotVerified(
                f'the features are {features.joined(there)}'
            )
        if flags or invalid:
            raise outcomes.NotVerified(
                f'the flags of the image are {flags}, and those of '
                f'{len(invalid)} snapshots are not empty'
            )
        return there


def _invalid_snapshots(image: Any) -> Iterator[int]:
    """Yield the ids of snapshots whose maps are invalid."""
    for each in list(image.list_snaps()):
        with images.at(image, each['id']):
            if image.flags() != _NO_FLAGS:
                yield each['id']
