#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Protection of conversions against other processes and requests."""

from collections.abc import Iterator
import contextlib
from typing import Any

from cinder import coordination
from cinder import exception

from cinder_rbd_ext.conversion import marker

_NAME = 'rbd-conversion-{}'


class Busy(exception.VolumeBackendAPIException):
    """Another service or thread is converting the image."""

    message = 'The RBD image of volume %(id)s is being converted.'


class Locks:
    """The locks of the conversions that a driver runs.

    Cinder's coordination back end provides the locks. It releases the locks of
    a killed process, so that another process can continue its conversions.
    """

    def __init__(self) -> None:
        self._locked: set[str] = set()

    @contextlib.contextmanager
    def locked(self, volume_id: str) -> Iterator[None]:
        """Lock the conversion of a volume.

        :raises Busy: if another service or thread has locked it
        """
        if volume_id in self._locked:
            raise Busy(id=volume_id)
        lock = coordination.COORDINATOR.get_lock(_NAME.format(volume_id))
        if not lock.acquire(blocking=False):
            raise Busy(id=volume_id)
        self._locked.add(volume_id)
        try:
            yield
        finally:
            self._locked.discard(volume_id)
            lock.release()


def clean(volume_id: str) -> None:
    """Remove the lock file of a volume that is deleted."""
    coordination.synchronized_remove(_NAME.format(volume_id))


# Cinder refuses operations on a volume in the status ``retyping``, but not
# operations on its snapshots.


def check_clone(snapshot: Any) -> None:
    """Check that a volume can be created from a snapshot.

    :raises InvalidSnapshot: if the image of its volume is being converted
    """
    if marker.is_converting(snapshot.volume):
        raise exception.InvalidSnapshot(reason=marker.CONVERTING)


def check_deletion(snapshot: Any) -> None:
    """Check that a snapshot can be deleted.

    :raises SnapshotIsBusy: if the image of its volume is being converted.
        The snapshot remains available.
    """
    if marker.is_converting(snapshot.volume):
        raise exception.SnapshotIsBusy(snapshot_name=snapshot.name)
