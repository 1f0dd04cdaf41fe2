# SPDX-License-Identifier: Apache-2.0

"""Deferred deletion: images are moved to the trash and purged later.

The stock driver moves an image to the trash only if it cannot remove it
immediately.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import errno
from typing import Any

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.lifecycle import clone_sources


class Deferral:
    """Moves an image to the trash where the stock driver removes it.

    :param delay: seconds until the image may be purged
    :ivar has_snapshots: whether the image still has snapshots, such as those
        that were removed while they had clones; false if unknown
    """

    def __init__(self, librbd: Any, delay: int) -> None:
        self._librbd = librbd
        self._delay = delay
        self.has_snapshots = False

    def remove(
        self, rbd: protocols.RBD, ioctx: protocols.Ioctx, name: str
    ) -> None:
        """Move an image to the trash.

        An image with snapshots is refused the first time, as librbd refuses
        its removal, and the stock driver then flattens the clones. In the
        trash, the image could not be purged until the clones are deleted.

        :raises ImageHasSnapshots: the first time, if it has snapshots
        """
        if self.has_snapshots:
            self.has_snapshots = False
            raise self._librbd.ImageHasSnapshots(f'{name} has snapshots')
        rbd.trash_move(ioctx, name, self._delay)


class Purge:
    """The purge of a pool's trash.

    :param prepare: receives each image, open, before its removal; returns the
        snapshot from which it was cloned, or None
    :param is_excluded: returns whether an entry of the trash is not removed,
        because only the recovery of retypes knows when it may be
    :ivar released: the snapshots whose clones were purged
    :ivar is_lost: whether the connection was lost
    """

    def __init__(
        self,
        librbd: Any,
        prepare: Callable[[Any], clone_sources.Reference | None],
        is_excluded: Callable[[dict[str, Any]], object],
    ) -> None:
        self._librbd = librbd
        self._prepare = prepare
        self._is_excluded = is_excluded
        self.released: list[clone_sources.Reference] = []
        self.is_lost = False

    @contextlib.contextmanager
    def removing(
        self, rbd: protocols.RBD, ioctx: protocols.Ioctx, image_id: str
    ) -> Iterator[None]:
        """Take part in the removal of an image from the trash.

        :raises OSError: if the delay has not passed, or if the image is not
            removed here. The stock driver expects this class; librbd raises
            another one of the same name, for which the stock driver logs an
            error with each purge.
        """
        try:
            with self._removing(rbd, ioctx, image_id):
                yield
        except Exception as error:
            numbers = blocklisting.numbers(error)
            self.is_lost = not blocklisting.LOST.isdisjoint(numbers)
            raise

    @contextlib.contextmanager
    def _removing(
        self, rbd: protocols.RBD, ioctx: protocols.Ioctx, image_id: str
    ) -> Iterator[None]:
        entry = rbd.trash_get(ioctx, image_id)
        until = entry['deferment_end_time']
        now = datetime.datetime.now(datetime.timezone.utc)
        is_early = until.replace(tzinfo=datetime.timezone.utc) > now
        if is_early or self._is_excluded(entry):
            raise OSError(errno.EPERM, f'{image_id} is kept until {until}')
        reference = None
        # An interrupted removal left an entry in the trash whose image no
        # longer exists.
        with contextlib.suppress(self._librbd.ImageNotFound):
            image = self._librbd.Image(ioctx, image_id=image_id)
            try:
                reference = self._prepare(image)
            finally:
                image.close()
        yield
        if reference:
            self.released.append(reference)
