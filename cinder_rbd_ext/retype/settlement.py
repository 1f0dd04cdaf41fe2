# SPDX-License-Identifier: Apache-2.0

"""Removal of the image that a volume's row does not name.

One question settles each request that replaces an image, however it ended:
which of the two images does the row name?

=========  =============================  ====================================
Step       Before it                      After a kill, or a failure
=========  =============================  ====================================
void       The marker names two images,   As before.
           the row one of them.
look       The token is void: the row     As before.
           cannot change any more.
remove     The image that the row names   The other image exists, or is in the
           exists.                        trash. All steps are repeated.
forget     The other image is in the      As before.
           trash: with its delay, if it
           was the volume's; otherwise
           it is removed at once.
=========  =============================  ====================================

Recovery, the next request for the volume, and whatever ends the volume do
this, each inside the volume's exclusive lock. A volume can be deleted by the
back end that it was migrated to, which may have no right to the pool that it
has left. Its marker then stays in Cinder's database, where the back end of
that pool finds it (:meth:`Settlement.settle_deleted`).
"""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import uuid

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.trash import entries
from rbd_volume_options import accepted_keys
from rbd_volume_options import bindings
from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import ownership
from rbd_volume_options import request

LOG = logging.getLogger(__name__)

# Errors of librados and librbd without the rights to a pool.
_REFUSED = (errno.EPERM, errno.EACCES)


class Settlement:
    """Settles the retypes and migrations of the volumes of a back end.

    :ivar process: identifies this process in markers
    """

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._begin()
        # Cinder creates the driver once, before it forks the service. A
        # service that was killed is forked again.
        releases.after_fork(self._begin)

    def _begin(self) -> None:
        self.process = uuid.uuid4().hex[:8]

    def is_alive(self, mark: marker.Marker) -> bool:
        """Return whether the service that runs a request may continue it."""
        if mark.host == (self._driver.host or ''):
            return mark.process == self.process
        return marker.has_service(mark.host, is_up=True)

    @contextlib.contextmanager
    def requested(
        self,
        volume: protocols.Volume,
        mark: marker.Marker,
        lock: contextlib.AbstractContextManager[locks.Exclusive],
        unchanged: Iterable[str],
        is_announced: bool = True,
    ) -> Iterator[locks.Exclusive]:
        """Hold the lock of a volume alone for a request that may copy it.

        What an earlier request has left is removed first.

        :param volume: the manager's object
        :param lock: from :func:`cinder_rbd_ext.volume_use.replacing`
        :param unchanged: the attributes in which the row must be the same
        :param is_announced: whether the marker is written before the lock is
            taken. The sooner, the shorter a kill leaves the status.
        :raises VolumeBackendAPIException: if the row has changed since
        """
        # A late request, or a service that was paused, saves no status.
        late_request.guard(volume, {'status': volume.status})
        if is_announced and marker.of_volume(volume.id) is None:
            marker.write(volume.id, mark)
        try:
            with lock as held:
                current = record.stored_volume(volume.id)
                if any(
                    getattr(current, name) != getattr(volume, name)
                    for name in unchanged
                ):
                    raise late_request.ended(volume)
                earlier = marker.of_volume(volume.id)
                if earlier and earlier.image != mark.image:
                    self.settle(volume.id)
                    if is_announced:
                        marker.write(volume.id, mark)
                yield held
        except Exception:
            self.forget_announced(volume.id, mark)
            raise

    def forget_announced(self, volume_id: str, mark: marker.Marker) -> None:
        """Remove the marker of a request that has ended without a copy."""
        current = marker.of_volume(volume_id)
        if current and not current.has_begun:
            marker.forget(volume_id, mark)

    def settle(self, volume_id: str) -> None:
        """Remove what a request for a volume has left, and its marker.

        The status of the volume is not changed. The caller holds the
        exclusive lock of the volume.

        :raises rbd.ImageBusy: if an image cannot be removed yet
        :raises VolumeBackendAPIException: if the volume's image is missing
        """
        mark = marker.of_volume(volume_id)
        if mark is not None:
            self._settle(volume_id, mark)

    def _settle(self, volume_id: str, mark: marker.Marker) -> None:
        if mark.has_begun and not self._remove_other(volume_id, mark):
            return
        volume = record.stored_volume(volume_id)
        if not mark.left and volume.status != 'deleting':
            self._correct_keys(volume)
            # A retype that failed may have changed limits.
            self._driver.configurations.follow(volume)
        marker.forget(volume_id, mark)

    def remove_former(self, volume_id: str) -> None:
        """Act as :meth:`settle`, but keep the marker until Cinder has saved.

        :raises rbd.ImageBusy: if the former image cannot be removed yet
        """
        mark = marker.of_volume(volume_id)
        if mark is not None:
            self._remove_other(volume_id, mark)

    def settle_deleted(self) -> None:
        """Settle the migrations of volumes that were deleted elsewhere."""
        for volume_id, mark in marker.of_deleted_volumes(self._driver):
            admin = context.get_admin_context(read_deleted='yes')
            volume = objects.Volume.get_by_id(admin, volume_id)
            if volume.name_id == mark.image:
                self._keep_former(volume_id, mark)
            marker.forget_deleted(volume_id)

    def settle_idle(self, volume_id: str) -> None:
        """Act as :meth:`settle` before another operation on the volume.

        :raises VolumeLocked: if the request is still running
        """
        if marker.of_volume(volume_id) is None:
            return
        with locks.exclusive(self._driver, record.stored_volume(volume_id)):
            volume = record.stored_volume(volume_id)
            mark = marker.read(volume.admin_metadata)
            if (
                mark
                and marker.is_requested(volume, mark)
                and self.is_alive(mark)
            ):
                raise locks.VolumeLocked(volume_id=volume_id)
            self.settle(volume_id)

    def give_up(self, volume_id: str, mark: marker.Marker) -> None:
        """Act as :meth:`settle` after a failure, which is not raised.

        Cinder releases the status next. What could not be removed is left to
        recovery, which then leaves the status alone. If the lock was lost,
        another service may have done this, and another request have begun.
        """
        try:
            current = marker.of_volume(volume_id)
            if current and current.image == mark.image:
                self._settle(volume_id, mark)
            elif commit.outcome(volume_id, mark) != mark.image:
                # It can have been made after the other service had looked.
                self._discard(volume_id, mark)
        except Exception:
            LOG.exception(
                'Could not remove what a request for volume %s has left; '
                'trying again later',
                volume_id,
            )
            with contextlib.suppress(exception.CinderException):
                marker.write(
                    volume_id, dataclasses.replace(mark, is_over=True)
                )

    def _remove_other(self, volume_id: str, mark: marker.Marker) -> bool:
        """Remove the image that the row does not name.

        :returns: False if that is left to the back end of its pool
        """
        named = commit.outcome(volume_id, mark)
        if named not in (mark.image, mark.former):
            LOG.error(
                'Volume %(id)s has neither image %(image)s nor %(former)s. '
                'Both are kept; run "cinder-rbd-ext audit"',
                {'id': volume_id, 'image': mark.name, 'former': mark.former},
            )
            return True
        is_committed = named == mark.image
        name, pool = mark.former_name, mark.former_pool
        if is_committed:
            name, pool = mark.name, mark.pool
        if copies.image_id(self._driver, name, pool) is None:
            raise exception.VolumeBackendAPIException(
                data=f'RBD image {name} of volume {volume_id} does not exist '
                f'in pool {pool}. Its other image is not removed'
            )
        if is_committed:
            return self._keep_former(volume_id, mark)
        self._discard(volume_id, mark)
        return True

    def _keep_former(self, volume_id: str, mark: marker.Marker) -> bool:
        delay = self._driver.configuration.safe_get(opts.CONVERSION_KEEP)

        def keep(ioctx: bindings.Ioctx) -> None:
            if ownership.id_of(ioctx, mark.former_name) == mark.former_id:
                entries.keep(
                    self._driver, ioctx, mark.former_name, volume_id, delay
                )

        try:
            copies.run(self._driver, keep, mark.former_pool)
        except Exception as error:
            is_refused = getattr(error, 'errno', None) in _REFUSED
            if not is_refused or mark.left in (
                '',
                marker.back_end_of(self._driver),
            ):
                raise
            LOG.info(
                'Volume %(id)s: its former image in pool %(pool)s is left to '
                'back end %(backend)s',
                {
                    'id': volume_id,
                    'pool': mark.former_pool,
                    'backend': mark.left,
                },
            )
            return False
        return True

    def _discard(self, volume_id: str, mark: marker.Marker) -> None:
        """Remove the copy; leave it if this back end may not use its pool.

        The volume must remain usable.
        """
        try:
            copies.run(
                self._driver,
                lambda ioctx: entries.discard(
                    self._driver, ioctx, mark.name, volume_id
                ),
                mark.pool,
            )
        except Exception as error:
            is_gone = isinstance(error, self._driver.rados.ObjectNotFound)
            if not is_gone and getattr(error, 'errno', None) not in _REFUSED:
                raise
            LOG.exception(
                'Pool %(pool)s cannot be used. If it has an image %(name)s, '
                'remove that image.',
                {'pool': mark.pool, 'name': mark.name},
            )

    def keeps_former(self, volume_id: str, snapshots: set[str]) -> bool:
        """Return whether a former image has a snapshot that Cinder needs.

        A service that was paused with the open image can have made one after
        another image had replaced it.

        :param snapshots: names of those of the former image
        """
        rows = objects.SnapshotList.get_all_for_volume(
            context.get_admin_context(), volume_id
        )
        needed = {row.name for row in rows} & snapshots
        if not needed:
            return False
        name = record.stored(volume_id).name_id
        try:
            with self._driver.images.opened(
                marker.name_of(name), read_only=True
            ) as image:
                return not needed <= set(image_handles.snapshot_names(image))
        except self._driver.rbd.ImageNotFound:
            # The volume has its image in another pool.
            return True

    def _correct_keys(self, volume: protocols.Volume) -> None:
        """Remove keys that were written back during a retype.

        A client that replaces all metadata may have read it before the driver
        removed a key. A failure is logged and not raised.
        """
        try:
            state = self._driver.images.state_of(volume.name)
            accepted = accepted_keys.accepted_by_type(
                request.metadata_of(volume),
                request.specs_of(volume.volume_type),
                self._driver.settings,
                volume.size,
            )
            requested = options.parse(
                accepted.kept, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
            )
            difference = changes.disagreement(requested, state)
            if difference:
                accepted = accepted.without(difference)
            remove_keys(self._driver, volume, accepted)
        except Exception:
            LOG.exception('Could not check the keys of volume %s', volume.id)


def remove_keys(
    driver: protocols.Driver,
    volume: protocols.Volume,
    accepted: accepted_keys.Acceptance | None,
) -> None:
    """Remove the keys that are not accepted from a volume, and log them.

    A model update would replace all metadata, which the owner may have
    changed since. The volume object stays consistent with the database, so
    that Cinder does not save it again. A failure is logged: the image has
    already changed, and Cinder must save that.
    """
    if not accepted or not accepted.dropped:
        return
    try:
        for name in sorted(accepted.dropped):
            if name in volume.metadata:
                volume.delete_metadata_key(name)
            else:
                # The owner has set it since the volume was read.
                db.volume_metadata_delete(volume._context, volume.id, name)
    except Exception:
        LOG.exception('Could not remove the keys of volume %s', volume.id)
        return
    LOG.info(
        'Volume %(id)s: removed keys that its volume type does not '
        'accept on back end %(backend)s: %(keys)s',
        {
            'id': volume.id,
            'backend': driver.backend_name,
            'keys': accepted.reasons,
        },
    )
