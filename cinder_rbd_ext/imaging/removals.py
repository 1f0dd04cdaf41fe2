# SPDX-License-Identifier: Apache-2.0

"""Removals of images that more than librbd takes part in."""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
import contextlib
import errno
from typing import Any

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.i18n import _
from rbd_volume_options import bindings

LOG = logging.getLogger(__name__)

_Entry = dict[str, Any]

# The source of the trash entries that are part of a migration by librbd.
_MIGRATION = 'MIGRATION'

#: Removes an image: librbd's object, the context of the pool, the name.
Remove = Callable[[Any, Any, str], None]


class Purge:
    """The purge of a pool's trash.

    :param prepare: receives each image, open, before its removal; returns the
        snapshot from which it was cloned, or None
    :param removable: the ids of the images that may be removed
    :ivar released: for each purged image, the snapshot of which it was a
        clone, or None
    :ivar is_lost: whether the purge must end, because its connection was lost
    """

    def __init__(
        self,
        librbd: Any,
        prepare: Callable[[Any], Any],
        removable: Container[str],
    ) -> None:
        self._librbd = librbd
        self._prepare = prepare
        self._removable = removable
        self.released: list[Any] = []
        self.is_lost = False

    @contextlib.contextmanager
    def removing(self, ioctx: bindings.Ioctx, image_id: str) -> Iterator[None]:
        """Take part in the removal of an image from the trash.

        :raises OSError: if the image is kept, as the stock driver expects
        """
        if image_id not in self._removable:
            raise OSError(errno.EPERM, f'{image_id} is kept')
        reference = None
        try:
            # An interrupted removal left an entry in the trash whose image no
            # longer exists.
            with contextlib.suppress(self._librbd.ImageNotFound):
                opened = self._librbd.Image(ioctx, image_id=image_id)
                with contextlib.closing(opened) as image:
                    reference = self._prepare(image)
            yield
        except Exception as error:
            numbers = blocklisting.numbers(error)
            self.is_lost = not blocklisting.LOST.isdisjoint(numbers)
            raise
        self.released.append(reference)


def trash_of(rbd: bindings.RBD, ioctx: bindings.Ioctx) -> list[_Entry]:
    """Return the images in the trash of a pool, as far as librbd lists them.

    The Python binding of Ceph 16 stops with ``IndexError`` at the source of a
    migration. The stock driver's periodic purge would then end for good.
    """
    entries = []
    try:
        for entry in rbd.trash_list(ioctx):
            if entry['source'] != _MIGRATION:
                entries.append(entry)
    except IndexError:
        LOG.warning(
            'Could not read the whole trash of pool %s, because an image of '
            'the pool is being converted or migrated',
            ioctx.get_pool_name(),
        )
    return entries


@contextlib.contextmanager
def checked(librbd: Any, ioctx: bindings.Ioctx, name: str) -> Iterator[None]:
    """Check that an image that librbd did not find for removal is gone.

    librbd creates the pool's trash directory with the first image that it
    removes. If this fails because the pool is full, librbd reports that the
    image does not exist. Cinder would forget the volume, but not its data.
    """
    try:
        yield
    except librbd.ImageNotFound as error:
        if not librbd.is_there(ioctx, name):
            raise
        raise exception.VolumeBackendAPIException(
            data=_(
                'RBD image %s cannot be removed, because its pool is full and '
                'has no trash directory yet. Raise the quota or add storage, '
                'and delete the volume again'
            )
            % name
        ) from error
