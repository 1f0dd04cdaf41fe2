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

"""Conversions of RBD images in a retype, inside the Ceph cluster."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import time
from typing import Any

from cinder import context
from cinder import objects
from oslo_log import log as logging

from cinder_rbd_ext import option_errors
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.conversion import marker
from cinder_rbd_ext.conversion import obstacles
from cinder_rbd_ext.conversion import protection
from cinder_rbd_ext.conversion import steps
from cinder_rbd_ext.lifecycle import in_place
from cinder_rbd_ext.lifecycle import retyping

LOG = logging.getLogger(__name__)

_IN_USE = 'in-use'
_DELETING = 'deleting'

# Seconds until the OSDs remove the watch of a killed client, and seconds
# between two attempts in this time.
_CLIENT_EXPIRES = 60.0
_PAUSE = 5.0

#: Seconds before a failed step is repeated.
REPEAT = 30.0


class Conversions:
    """Changes the layout and the data pool of existing images.

    :param driver: the driver, which provides connections and settings
    :param changes: the changes of its images in place
    :param sleep: waits a number of seconds
    """

    def __init__(
        self,
        driver: Any,
        changes: in_place.InPlace,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._driver = driver
        self._in_place = changes
        self._sleep = sleep
        self.locks = protection.Locks()
        #: IDs of volumes whose conversion is being resumed under a lock.
        self.resumed: set[str] = set()
        #: IDs of volumes whose image was converted. Their marker is removed
        #: when Cinder has saved the new type.
        self.ended: set[str] = set()

    def begin(self, volume: Any, new_type: Any) -> in_place.Begun | None:
        """Begin a retype; convert the image if the new type requires it.

        Features that librbd can change are left to
        :meth:`cinder_rbd_ext.lifecycle.in_place.InPlace.apply`.

        :returns: the retype with the current state of the image; None if the
            retype needs a migration by Cinder
        :raises VolumeOptionRefused: for options that are not possible on any
            volume
        """
        with option_errors.of_volume(
            volume, self._driver.backend_name, user_messages.Operation.RETYPE
        ):
            begun = self._in_place.begin(volume, new_type)
            found = marker.read(begun.recorded)
            if found:
                begun = self._completed(volume, found, begun)
            obstacle = begun.retype.change(begun.state).obstacle
            conversion = None
            if obstacle or found:
                conversion = begun.retype.conversion(begun.state)
        if obstacle is None:
            if found and conversion and found.type_id == new_type.id:
                # A service was killed after it had converted the image.
                self.ended.add(volume.id)
                return dataclasses.replace(begun, given=conversion.origins)
            if found:
                marker.forget(volume.id)
            return begun
        if conversion is None:
            reason: str | None = str(obstacle)
        else:
            reason = self._converted(volume, new_type, conversion)
            if reason is None:
                return self._recorded(volume, begun, conversion)
            marker.refuse(volume.id, reason)
        LOG.info(
            'Retype of volume %(id)s needs a migration: %(obstacle)s; the '
            'image cannot be converted: %(why)s',
            {'id': volume.id, 'obstacle': obstacle, 'why': reason},
        )
        return None

    def _completed(
        self, volume: Any, found: marker.Marker, begun: in_place.Begun
    ) -> in_place.Begun:
        """Complete an interrupted earlier conversion."""
        with self._locked(volume.id):
            self.steps_of(volume, found).finish(found.source_id)
        state = self._driver.images.state_of(volume.name)
        return dataclasses.replace(begun, state=state)

    def discard(self, volume: Any) -> None:
        """End the conversion of a volume that is being deleted.

        This waits for a running conversion. It aborts an interrupted one, or
        completes it if the data is needed after the deletion.

        :raises rbd.Error: if librbd cannot end it
        """
        if not _may_have_marker(volume):
            return
        with self._waited(volume.id):
            found = marker.read(record.items_of(volume.id))
            if found is None:
                return
            LOG.info('Ending the conversion of volume %s', volume.id)
            work = self.steps_of(volume, found)
            end = work.finish if self._is_needed(volume) else work.discard
            self._unless_open(lambda: end(found.source_id), _CLIENT_EXPIRES)
            marker.forget(volume.id)
        self.ended.discard(volume.id)

    def check_deletion(self, snapshot: Any) -> None:
        """Check that a snapshot can be deleted.

        If its volume is being deleted too, its conversion ends first.

        :raises SnapshotIsBusy: if the image of its volume is being converted
        """
        protection.check_deletion(snapshot)
        if snapshot.volume.status == _DELETING:
            self.discard(snapshot.volume)

    @contextlib.contextmanager
    def _waited(self, volume_id: str) -> Iterator[None]:
        """Wait for the lock of a volume's conversion, and hold it."""
        with contextlib.ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(self.locks.locked(volume_id))
                    break
                except protection.Busy:
                    self._sleep(_PAUSE)
            yield

    def _is_needed(self, volume: Any) -> bool:
        """Return whether the data is needed after the deletion.

        With deferred deletion, the data can be restored from the trash. Clones
        may exist if an administrator has reset the status of the volume.
        """
        if self._driver.configuration.enable_deferred_deletion:
            return True
        try:
            with self._driver.images.opened(
                volume.name, read_only=True
            ) as image:
                return obstacles.has_clones(image, list(image.list_snaps()))
        except self._driver.rbd.ImageNotFound:
            return False

    def _recorded(
        self,
        volume: Any,
        begun: in_place.Begun,
        conversion: retyping.Conversion,
    ) -> in_place.Begun:
        """Record a converted image now, because the retype may still fail."""
        state = self._driver.images.state_of(volume.name)
        origins, backend = conversion.origins, record.backend_of(volume)
        record.made(volume.id, state, backend, origins)
        return dataclasses.replace(begun, state=state, given=origins)

    def _converted(
        self, volume: Any, new_type: Any, conversion: retyping.Conversion
    ) -> str | None:
        """Convert an image; return the reason if it is left unchanged."""
        if _is_attached(volume):
            return obstacles.IN_USE
        images = self._driver.images
        with self._locked(volume.id):
            with images.opened(volume.name, read_only=True) as image:
                reason = obstacles.of_image(image, self._driver.rbd)
                source_id = str(image.id())
            if reason:
                return reason
            found = marker.Marker(new_type.id, source_id)
            work = self.steps_of(volume, found)
            marker.begin(volume.id, found)
            reason = self._prepared(volume, work, conversion)
            if self._finished(volume, work, found):
                self.ended.add(volume.id)
                return None
            marker.forget(volume.id)
        return reason or 'Ceph did not start the conversion'

    def _locked(
        self, volume_id: str
    ) -> contextlib.AbstractContextManager[None]:
        if volume_id in self.resumed:
            return contextlib.nullcontext()
        return self.locks.locked(volume_id)

    def steps_of(self, volume: Any, found: marker.Marker) -> steps.Steps:
        """Return the steps of a conversion, which record its progress."""
        return steps.Steps(
            self._driver,
            volume.name,
            functools.partial(marker.progress, volume.id, found),
        )

    def _prepared(
        self, volume: Any, work: steps.Steps, conversion: retyping.Conversion
    ) -> str | None:
        """Prepare a conversion; return the reason if librbd refuses it."""
        try:
            self._prepare(volume, work, conversion)
        except self._driver.rbd.ImageBusy:
            return obstacles.IN_USE
        except self._driver.rbd.Error as error:
            LOG.exception('Could not convert volume %s', volume.id)
            return f'Ceph refused the conversion ({type(error).__name__})'
        return None

    def _prepare(
        self, volume: Any, work: steps.Steps, conversion: retyping.Conversion
    ) -> None:
        """Prepare a conversion; wait until a killed client's watch expires."""
        left = _CLIENT_EXPIRES if volume.id in self.resumed else 0.0
        self._unless_open(lambda: work.prepare(conversion.target), left)

    def _unless_open(self, step: Callable[[], object], left: float) -> None:
        """Run a step; repeat it while a client has the image open.

        :param left: seconds for which it is repeated
        """
        while True:
            try:
                step()
                return
            except self._driver.rbd.ImageBusy:
                if left <= 0:
                    raise
            left -= _PAUSE
            self._sleep(_PAUSE)

    def _finished(
        self, volume: Any, work: steps.Steps, found: marker.Marker
    ) -> bool:
        """Complete a conversion; repeat a failed step until it succeeds.

        Until then the volume keeps the status ``retyping``, in which it cannot
        be used. The attempts end if an administrator resets the status.

        :returns: False if librbd did not start, and the image is unchanged
        """
        while True:
            try:
                return work.finish(found.source_id)
            except self._driver.rbd.Error:
                LOG.exception(
                    'The conversion of volume %s is interrupted', volume.id
                )
                if not is_retyping(volume.id):
                    raise
            self._sleep(REPEAT)


def _may_have_marker(volume: Any) -> bool:
    """Return whether a volume has a marker, or might have one.

    Cinder reads the volume again before its deletion. The result has the admin
    metadata only if an administrator requested the deletion.
    """
    if volume.obj_attr_is_set('admin_metadata'):
        return marker.read(volume.admin_metadata or {}) is not None
    return marker.read(record.items_of(volume.id)) is not None


def _is_attached(volume: Any) -> bool:
    """Return whether a volume was attached when its retype began."""
    status = volume.status
    if status == marker.RETYPING:
        status = volume.previous_status
    return bool(status == _IN_USE)


def is_retyping(volume_id: str) -> bool:
    """Return whether a volume has the status ``retyping``."""
    there = objects.Volume.get_by_id(context.get_admin_context(), volume_id)
    return bool(there.status == marker.RETYPING)
