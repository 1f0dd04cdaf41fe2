# SPDX-License-Identifier: Apache-2.0

"""The trash of a pool; librbd moves each image to it to remove it."""

import logging
from typing import Any

from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import i18n

LOG = logging.getLogger(__name__)

#: The RADOS object that lists the trash. librbd creates it when it removes
#: the first image.
TRASH = 'rbd_trash'


def exists(ioctx: Any) -> bool:
    """Return whether a pool has its trash.

    If a pool without trash reaches its quota, the trash cannot be created.
    librbd then cannot remove images and reports that they do not exist.
    """
    try:
        ioctx.stat(TRASH)
    except stock.rados.ObjectNotFound:
        return False
    return True


def complete_removal(librbd: Any, ioctx: Any, name: str) -> bool:
    """Complete the removal of an image that was interrupted.

    librbd finds such an image in the trash by its name. It cannot be opened.

    :param librbd: ``rbd.RBD``
    :returns: whether there was something to remove
    :raises glance_store.exceptions.InUseByStore: while the cluster waits for
        the client that was interrupted
    """
    try:
        librbd.remove(ioctx, name)
    except stock.rbd.ImageNotFound:
        return False
    except stock.rbd.ImageBusy as error:
        raise exceptions.InUseByStore() from error
    LOG.info('Completed the removal of RBD image %s', name)
    return True


def check_gone(librbd: Any, ioctx: Any, name: str) -> None:
    """Check that an image that librbd did not find for removal is gone.

    :param librbd: ``rbd.RBD``
    :raises glance_store.exceptions.BackendException: if the image exists and
        could not be moved to the trash, because the pool has none
    """
    if not exists(ioctx) and name in librbd.list(ioctx):
        raise exceptions.BackendException(
            i18n._(
                'RBD image %s cannot be removed, because its pool is full and '
                'has no trash directory yet. Raise the quota or add storage, '
                'and delete the image again'
            )
            % name
        )
