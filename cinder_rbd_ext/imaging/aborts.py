# SPDX-License-Identifier: Apache-2.0


"""Calls of librbd that can end the process, and how they are avoided.

A failed assertion or an invalid memory access in librbd ends the volume
service and with it the operations of all tenants. These are known:

=========================  ======================  ===========================
Call                       What happens            How it is avoided
=========================  ======================  ===========================
Removal of a snapshot      ``ceph_assert`` in      :func:`check_removal`: the
of an image in a live      ``ObjectCopyRequest``   open handle shows the
migration                  [1]_                    migration.
Clone of an image in a     ``SIGSEGV`` beside      :func:`check_snapshot`; the
live migration             ``migration_prepare``;  service itself starts no
                           wrong data until the    live migration.
                           migration ends [1]_
Deep copy of an image      ``ceph_assert`` if a    A child process
whose snapshots change     snapshot is removed     (:mod:`cinder_rbd_ext.
                           meanwhile [2]_          retype.children`), under
                                                   the lock of the volume
``diff_iterate`` by whole  Crash if the range is   Not called for images with
objects                    empty [3]_; failed      few objects or with
                           assertion on an object  snapshots
                           that was discarded and  (:func:`cinder_rbd_ext.
                           is in a snapshot [4]_   turns.is_slow`), or in a
                                                   child process
                                                   (:mod:`cinder_rbd_ext.
                                                   retype.image_data`)
``close`` after the end    Hangs, or aborts after  Open images are closed
of the connection          failed clones [1]_      with the connection
                                                   (:meth:`cinder_rbd_ext.
                                                   imaging.librbd.Librbd.
                                                   close_images`).
``aio_write`` without a    Data is written from    Not called: copies between
reference to its buffer    freed memory [1]_       pools are made by
                                                   ``Image.copy``.
=========================  ======================  ===========================

.. [1] Reproduced with librbd 16.2.15.
.. [2] ``src/librbd/deep_copy/ObjectCopyRequest.cc`` asserts that it finds the
   snapshots with which the copy has begun.
.. [3] https://tracker.ceph.com/issues/66418, https://github.com/ceph/ceph/pull/57973
.. [4] https://github.com/ceph/ceph/pull/54949, in 16.2.15
"""

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols

LOG = logging.getLogger(__name__)

# librbd's bit of an image in a live migration, as source or as target. Older
# Python bindings have no name for it.
_MIGRATING = 1 << 9


def check_removal(image: protocols.Image, snapshot: str) -> None:
    """Check that a snapshot of an open image can be removed.

    :raises SnapshotIsBusy: if the image is in a live migration. Cinder keeps
        the snapshot available.
    """
    if image.features() & _MIGRATING:
        LOG.error(
            'Snapshot %(snapshot)s of image %(image)s is kept, because the '
            'image is in a live migration (rbd migration). Commit or abort '
            'the migration first.',
            {'snapshot': snapshot, 'image': image.get_name()},
        )
        raise exception.SnapshotIsBusy(snapshot_name=snapshot)


def check_snapshot(image: protocols.Image) -> None:
    """Check that a snapshot of an open image can be created, or a clone.

    :raises ImageMigrating: if the image is in a live migration
    """
    if image.features() & _MIGRATING:
        raise exceptions.ImageMigrating(name=image.get_name())
