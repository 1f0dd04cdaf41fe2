# SPDX-License-Identifier: Apache-2.0

"""What a retype or a migration leaves, and its removal.

After Cinder has saved the result, the former image goes to the trash. After a
failure or a kill, the copy is removed. The marker is removed last: until then,
recovery and the next request for the volume repeat this.
"""

from collections.abc import Iterator
import contextlib
import errno

from cinder import exception
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import accepted_keys
from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Errors of librados and librbd without the rights to a pool.
_REFUSED = (errno.EPERM, errno.EACCES)


@contextlib.contextmanager
def attempting(volume_id: str) -> Iterator[None]:
    """Remove something; recovery repeats it after a failure."""
    try:
        yield
    except Exception:
        LOG.exception(
            'Could not remove what a request for volume %s has left; trying '
            'again later',
            volume_id,
        )


class Leftovers:
    """What retypes and migrations of a back end have left."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver

    def settle(self, volume_id: str, wait: float = 0.0) -> None:
        """Remove what an earlier retype or migration of a volume has left.

        The status of the volume is not changed. The caller holds the
        exclusive lock of the volume.

        :param wait: seconds to wait for the end of the watch of a killed child
        :raises rbd.ImageBusy: if an image could not be removed yet
        """
        mark = marker.of_volume(volume_id)
        if mark is None:
            return
        volume = record.stored_volume(volume_id)
        images = swap.Images(self._driver, volume.name, mark)
        if mark.pool:
            self._settle_migration(volume, mark, images, wait)
            return
        if images.complete_swap(mark.copy_id):
            trash.keep(images, volume_id)
        elif not self._driver.images.exists(volume.name):
            # The back end has another pool, or has failed over.
            return
        else:
            trash.discard(images, wait)
        self._correct_keys(volume)
        # A retype that failed may have changed limits.
        self._driver.configurations.follow(volume)
        marker.forget(volume_id)

    def _settle_migration(
        self,
        volume: protocols.Volume,
        mark: marker.Marker,
        images: swap.Images,
        wait: float,
    ) -> None:
        """Remove the former image of a migrated volume, or else the copy.

        The database has the volume on the back end that it leaves until Cinder
        saves the new one. Without its image there, as after the restore of an
        older database, or with any other back end, such as that of a later
        migration or a host with a new name, nothing is proved: both images
        stay, and the audit reports them.
        """
        if mark.left != marker.back_end_of(self._driver):
            return
        back_end = image_record.backend_of(volume)
        if not mark.source_id:
            # The migration has not begun.
            marker.forget(volume.id)
            return
        if back_end == mark.left and self._driver.images.exists(volume.name):
            self._discard_in_other_pool(mark, images, wait)
            if mark.copy_id:
                state = self._driver.images.state_of(volume.name)
                record.moved(volume, mark.left, state)
        elif back_end == mark.destination and images.is_placed():
            trash.keep(images, volume.id)
        else:
            LOG.error(
                'Volume %(id)s was migrated from %(left)s to %(destination)s, '
                'and is now on %(back_end)s. Its former image %(name)s is not '
                'removed; run "cinder-rbd-ext audit"',
                {
                    'id': volume.id,
                    'left': mark.left,
                    'destination': mark.destination,
                    'back_end': back_end,
                    'name': volume.name,
                },
            )
            if back_end == mark.destination:
                return
        marker.forget(volume.id)

    def _discard_in_other_pool(
        self, mark: marker.Marker, images: swap.Images, wait: float
    ) -> None:
        """Remove the copy that a migration left in another pool.

        A partial copy stays there if this back end has no access any more: the
        volume must remain usable.
        """
        try:
            trash.discard(images, wait, mark.copy_id)
        except Exception as error:
            has_access = (
                not isinstance(error, self._driver.rados.ObjectNotFound)
                and getattr(error, 'errno', None) not in _REFUSED
            )
            if has_access or mark.copy_id:
                raise
            LOG.exception(
                'Pool %(pool)s cannot be used. If it has an image %(name)s, '
                'remove that image.',
                {'pool': mark.pool, 'name': images.copy_name},
            )

    def _correct_keys(self, volume: protocols.Volume) -> None:
        """Remove keys that were written back during a retype.

        A client that replaces all metadata may have read it before the driver
        removed a key. A failure is logged and not raised.
        """
        try:
            state = self._driver.images.state_of(volume.name)
            accepted = accepted_keys.of_type(
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

    def settle_other(self, request_id: str, volume_id: str) -> None:
        """Act as :meth:`settle` if the marker is that of another request.

        If the former back end of the volume has no service any more, the
        marker is forgotten, and both images stay: the audit reports them.

        :raises VolumeBackendAPIException: if the former back end of the volume
            must remove the former image or the copy first
        """
        mark = marker.of_volume(volume_id)
        if mark is None or mark.request == request_id:
            return
        volume = record.stored_volume(volume_id)
        if mark.is_stale or not marker.is_unsaved(volume, mark):
            self.settle(volume_id, wait=trash.WATCHED_FOR)
        left = marker.of_volume(volume_id)
        if left is None or not left.pool:
            return
        if not marker.is_unsaved(volume, left) and not marker.has_service(
            left.left
        ):
            LOG.error(
                'Volume %(id)s was migrated from %(left)s, which has no '
                'service. Its former image in the pool of %(left)s was not '
                'removed; run "cinder-rbd-ext audit"',
                {'id': volume_id, 'left': left.left},
            )
            marker.forget(volume_id)
            return
        raise exception.VolumeBackendAPIException(
            data=f'The migration of volume {volume_id} from {left.left} to '
            f'{left.destination} is not complete: cinder-volume of '
            f'{left.left} has not yet removed the image that is not used. '
            'Start that service. If the back end was removed or renamed, '
            f'remove the service: cinder-manage service remove cinder-volume '
            f'{left.left}'
        )

    def settle_idle(self, volume_id: str) -> None:
        """Act as :meth:`settle` before another operation on the volume.

        :raises VolumeLocked: if Cinder may be about to save the result of a
            migration whose status was reset
        """
        mark = marker.of_volume(volume_id)
        if mark and not (mark.pool and marker.is_requested(volume_id, mark)):
            volume = record.stored_volume(volume_id)
            with locks.exclusive(self._driver, volume) as lock:
                volume = lock.volume
                mark = marker.read(volume.admin_metadata)
                if (
                    mark
                    and not mark.is_stale
                    and marker.is_unsaved(volume, mark)
                ):
                    raise locks.VolumeLocked(volume_id=volume_id)
                self.settle(volume_id, trash.WATCHED_FOR)

    def prepare_deletion(self, volume: protocols.Volume) -> None:
        """Remove what retypes have left of a volume that is being deleted.

        With deferred deletion, the trash keeps its former images like the
        volume itself.
        """
        self.settle_idle(volume.id)
        is_deferred = self._driver.configuration.enable_deferred_deletion
        if not is_deferred and wire.RECORD_KEPT in record.items_of(volume.id):
            trash.remove(self._driver, lambda entry: True, volume.name)


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
