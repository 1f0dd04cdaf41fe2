# SPDX-License-Identifier: Apache-2.0

"""The replacement of a volume's image, in a retype or a migration.

The image is copied and the copy verified; one update of the row commits
(:mod:`cinder_rbd_ext.retype.commit`). Then one question settles the request,
however it ended: which of the two images does the row name? The other one is
removed. All of this holds the exclusive lock of the volume.

=========  =============================  ====================================
Step       Before it                      After a kill, or a failure
=========  =============================  ====================================
announce   Cinder has set the status.     Without the marker, the request is
                                          lost: the service that starts next
                                          returns the volume to its old status.
begin      There is room for a copy.      The same. The volume is unchanged.
copy,      The row has the token. The     A copy that no row names. It is
verify     marker names both images.      removed; the volume is unchanged.
commit     The source has no watcher, no  As above, or the row names the copy.
           clone, and is as before the
           copy.
void       The row names one of the two   As before. Afterwards, the row cannot
           images.                        change any more.
remove     The image that the row names   The other image exists, or is in the
           exists.                        trash. All steps are repeated.
forget     The other image is in the      As before.
           trash: with its delay, if it
           was the volume's; otherwise
           it is removed at once.
=========  =============================  ====================================

Recovery, the next request for the volume, and whatever ends the volume settle
it. A volume can be deleted by the back end that it was migrated to, which may
have no right to the pool that it has left. Its marker then stays in Cinder's
database, where the back end of that pool finds it
(:meth:`Replacements.settle_deleted`).
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import errno
import math
import time
from typing import Any
import uuid

from cinder import context
from cinder import exception
from cinder import objects
from cinder.objects import fields
from oslo_db import exception as db_exception
from oslo_log import log as logging

from cinder_rbd_ext import admission
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
from cinder_rbd_ext.trash import relatives
from rbd_volume_options import backend_settings
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import ownership

LOG = logging.getLogger(__name__)

# Errors of librados and librbd without the rights to a pool.
_REFUSED = (errno.EPERM, errno.EACCES)

# Seconds between two looks at the database.
_PAUSE = 1.0

# Seconds within which Cinder's manager has saved the end of a request, unless
# the database did not respond.
_SAVING = 60.0

# Statuses of a snapshot on which Cinder works.
_WORKING = (
    fields.SnapshotStatus.CREATING,
    fields.SnapshotStatus.DELETING,
    fields.SnapshotStatus.BACKING_UP,
    fields.SnapshotStatus.RESTORING,
    fields.SnapshotStatus.UNMANAGING,
)


@dataclasses.dataclass
class Request:
    """A request that may replace the image of a volume.

    :ivar volume: the manager's object
    :ivar held: the lock of the volume
    :ivar is_done: whether the marker stays until Cinder has saved the end
    """

    volume: protocols.Volume
    mark: marker.Marker
    held: locks.Held
    is_done: bool = False

    def check(self) -> None:
        """Check that nobody has voided the token, or changed the status.

        :raises CopyFailed: otherwise; the copy ends early
        :raises LockLost: if the lock has ended
        """
        self.held.check()
        volume = self.volume
        current = record.stored_volume(volume.id)
        for name in ('status', 'migration_status', '_name_id'):
            if getattr(current, name) != getattr(volume, name):
                raise commit.CopyFailed(
                    reason=f'The {name} of volume {volume.id} was changed'
                )
        if current.provider_geometry != self.mark.image:
            raise commit.CopyFailed(
                reason=f'The request for volume {volume.id} was given up'
            )

    def report(self, percent: int) -> None:
        """Write the progress, if the request still applies.

        The copy goes on while the database does not respond: the commit
        depends on the row.
        """
        try:
            self.check()
            marker.write(
                self.volume.id, dataclasses.replace(self.mark, percent=percent)
            )
        except db_exception.DBError as error:
            LOG.warning(
                'Could not report the progress of volume %(id)s: %(error)s',
                {'id': self.volume.id, 'error': error},
            )


class Replacements:
    """Replaces the images of the volumes of a back end, and settles that."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self.places = admission.Copies(driver)
        self._begin()
        # Cinder creates the driver once, before it forks the service. A
        # service that was killed is forked again.
        releases.after_fork(self._begin)

    def _begin(self) -> None:
        # Until when this process runs its requests, by their tokens.
        self._runs_until: dict[str, float] = {}

    def is_alive(self, mark: marker.Marker) -> bool:
        """Return whether the service that runs a request may continue it."""
        if mark.host == (self._driver.host or ''):
            return self._runs_until.get(mark.image, 0.0) > time.monotonic()
        filters = {'is_up': True, 'backend_match_level': 'backend'}
        return any(
            objects.ServiceList.get_all(
                context.get_admin_context(), {**filters, place: mark.host}
            )
            for place in ('host', 'cluster_name')
        )

    @contextlib.contextmanager
    def requested(
        self,
        volume: protocols.Volume,
        type_id: str = '',
        left: str = '',
        is_announced: bool = True,
    ) -> Iterator[Request]:
        """Hold the lock of a volume alone for a request that may copy it.

        What an earlier request has left is removed first.

        :param volume: the manager's object
        :param left: the back end that the volume leaves; empty for a retype
        :param is_announced: whether the marker is written before the lock is
            taken. The sooner, the shorter a kill leaves the status.
        :raises VolumeBackendAPIException: if the row has changed since
        """
        # A late request, or a service that was paused, saves no status.
        late_request.guard(volume)
        mark = marker.Marker(
            *(str(uuid.uuid4()), self._driver.host or '', type_id), left=left
        )
        self._runs_until[mark.image] = math.inf
        try:
            if is_announced and marker.of_volume(volume.id) is None:
                marker.write(volume.id, mark)
            with alone(self._driver, volume) as held:
                if any(
                    getattr(held.volume, name) != getattr(volume, name)
                    for name in ('name_id', 'host' if left else 'status')
                ):
                    raise late_request.ended(volume)
                commit.void(held.volume)
                earlier = marker.read(held.volume.admin_metadata)
                if earlier and earlier.image != mark.image:
                    self.settle(held.volume)
                if is_announced:
                    mark = marker.write(volume.id, mark)
                running = Request(volume, mark, held)
                yield running
        except Exception:
            self._forget_announced(volume.id, mark)
            raise
        finally:
            self._end(mark)
        if not running.is_done:
            self._forget_announced(volume.id, mark)

    def _end(self, mark: marker.Marker) -> None:
        now = time.monotonic()
        self._runs_until[mark.image] = now + _SAVING
        for image, until in list(self._runs_until.items()):
            if until < now:
                self._runs_until.pop(image, None)

    def _forget_announced(self, volume_id: str, mark: marker.Marker) -> None:
        """Remove the marker of a request that has ended without a copy."""
        current = marker.of_volume(volume_id)
        if current and not current.has_begun:
            marker.forget(volume_id, mark)

    def replace(
        self,
        running: Request,
        pool: str,
        target: options.Values,
        host: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Copy the image of a volume, and make the copy its image.

        After a failure, the volume has its image, and the copy is removed.

        :param pool: the pool of the copy
        :param host: the back end that the volume gets; None for the same
        :returns: why the image cannot be copied; None if it was replaced
        """
        volume, held = running.volume, running.held
        running.mark = dataclasses.replace(
            running.mark,
            former=volume.name_id,
            former_id=held.image_id,
            former_pool=str(self._driver.configuration.rbd_pool),
            pool=pool,
        )
        copy = copies.Copy(self._driver, volume.name, running.mark)
        # An administrator's migration waits longer.
        project = volume.project_id if volume.status == marker.RETYPING else ''
        with self.places.place(copy, target, project, held.check) as reason:
            if reason:
                return reason
            commit.begin(volume, running.mark)
            try:
                image_id = copy.make_verified(target, running.report)
                running.mark = marker.write(
                    volume.id,
                    dataclasses.replace(
                        running.mark, image_id=image_id, percent=100
                    ),
                )
                # Whoever finds the copy in the row waits until this has ended.
                held.add(image_id, pool)
                name = running.mark.name
                state = self._driver.images.state_of(name, pool=pool)
                columns = _columns(running, state, target, host)
                running.check()
                if not commit.commit(
                    self._driver, volume, running.mark, columns
                ):
                    raise commit.CopyFailed(
                        reason=f'Volume {volume.id} was changed meanwhile'
                    )
            except commit.UnknownOutcome:
                raise
            except Exception:
                self.give_up(volume.id, running.mark)
                raise
        running.is_done = True
        return None

    def settle(self, volume: protocols.Volume) -> None:
        """Remove what a request for a volume has left, and its marker.

        The status of the volume is not changed.

        :param volume: as read under its exclusive lock, which the caller holds
        :raises rbd.ImageBusy: if an image cannot be removed yet
        :raises VolumeBackendAPIException: if the volume's image is missing
        """
        mark = marker.read(volume.admin_metadata)
        if mark is None:
            return
        if mark.has_begun and not self._remove_other(volume.id, mark):
            return
        volume = record.stored_volume(volume.id)
        if mark.has_begun and volume.status != 'deleting':
            is_new = volume.name_id == mark.image
            pool = mark.pool if is_new else mark.former_pool
            relatives.drop_unneeded_of(self._driver, volume.name, pool)
        if not mark.left and volume.status != 'deleting':
            # A retype that failed may have changed limits.
            self._driver.configurations.follow(volume)
        marker.forget(volume.id, mark)

    def settle_deleted(self) -> None:
        """Settle the migrations of volumes that were deleted elsewhere.

        Only those that have left the back end of the driver.
        """
        back_end = marker.back_end_of(self._driver)
        items_by_volume = record.items_of_deleted(
            image_record.RECORD_MARKED, back_end
        )
        admin = context.get_admin_context(read_deleted='yes')
        for volume_id, items in items_by_volume.items():
            mark = marker.read(items)
            if mark and mark.has_begun:
                volume = objects.Volume.get_by_id(admin, volume_id)
                if volume.name_id == mark.image:
                    self._keep_former(volume_id, mark)
                record.clear_of_deleted(volume_id, image_record.RECORD_MARKED)

    def settle_idle(self, volume_id: str) -> None:
        """Act as :meth:`settle` before another operation on the volume.

        :raises VolumeLocked: if the request is still running
        """
        if marker.of_volume(volume_id) is None:
            return
        volume = record.stored_volume(volume_id)
        with locks.exclusive(self._driver, volume) as held:
            mark = marker.read(held.volume.admin_metadata)
            if (
                mark
                and marker.is_requested(held.volume, mark)
                and self.is_alive(mark)
            ):
                raise locks.VolumeLocked(volume_id=volume_id)
            self.settle(held.volume)

    def give_up(self, volume_id: str, mark: marker.Marker) -> None:
        """Act as :meth:`settle` after a failure, which is not raised.

        Cinder releases the status next. What could not be removed is left to
        recovery, which then leaves the status alone. If the lock was lost,
        another service may have done this, and another request have begun.
        """
        try:
            current = record.stored_volume(volume_id)
            own = marker.read(current.admin_metadata)
            if own and own.image == mark.image:
                self.settle(current)
            elif commit.outcome(volume_id, mark) != mark.image:
                # It can have been made after the other service had looked.
                self._discard(volume_id, mark)
        except Exception:
            LOG.exception(
                'Could not remove what a request for volume %s has left; '
                'trying again later',
                volume_id,
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
        driver = self._driver
        delay = driver.configuration.safe_get(opts.CONVERSION_KEEP)

        def keep(ioctx: bindings.Ioctx) -> None:
            if ownership.id_of(ioctx, mark.former_name) == mark.former_id:
                entries.keep(driver, ioctx, mark.former_name, volume_id, delay)

        try:
            entries.in_pool(driver, keep, mark.former_pool)
        except Exception as error:
            is_elsewhere = mark.left not in ('', marker.back_end_of(driver))
            if not is_elsewhere or not _is_refused(error):
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
        driver = self._driver
        try:
            entries.in_pool(
                driver,
                lambda ioctx: entries.discard(
                    driver, ioctx, mark.name, volume_id
                ),
                mark.pool,
            )
        except Exception as error:
            is_gone = isinstance(error, driver.rados.ObjectNotFound)
            if not is_gone and not _is_refused(error):
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
        name = marker.name_of(record.stored(volume_id).name_id)
        try:
            with self._driver.images.opened(name, read_only=True) as image:
                return not needed <= set(image_handles.snapshot_names(image))
        except self._driver.rbd.ImageNotFound:
            # The volume has its image in another pool.
            return True


def _columns(
    running: Request,
    state: options.Values,
    target: options.Values,
    host: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the columns of the row that change with the image.

    A back end with another driver ignores the record.
    """
    stored, image = record.stored(running.volume.id), running.mark.image
    if host is None:
        text = record.text_for(stored, state, image, target.origins)
        return {'provider_id': text}
    is_ours = backend_settings.is_ours(host['capabilities'])
    back_end = marker.back_end_of_host(host)
    return {
        'host': host['host'],
        'cluster_name': host.get('cluster_name'),
        'provider_id': (
            record.text_for(stored, state, image, backend=back_end)
            if is_ours
            else None
        ),
    }


def _is_refused(error: Exception) -> bool:
    return getattr(error, 'errno', None) in _REFUSED


@contextlib.contextmanager
def alone(
    driver: protocols.Driver,
    volume: protocols.Volume,
    wait: float = locks.WAIT,
) -> Iterator[locks.Held]:
    """Hold the lock of a volume alone, after requests accepted earlier.

    A request that Cinder has accepted might not wait long enough. One that is
    not served in time is not waited for: its service may have been killed.
    """
    until = time.monotonic() + wait
    while True:
        left = max(0.0, until - time.monotonic())
        with locks.exclusive(driver, volume, left) as held:
            if not left or not is_used_soon(volume.id):
                yield held
                return
        time.sleep(min(_PAUSE, left))


def is_used_soon(volume_id: str) -> bool:
    """Return whether Cinder has accepted requests that use the image.

    Cinder writes these statuses before it sends the request to the service. It
    reads the status of the volume again after that for a new snapshot, and
    before that for a new volume.
    """
    admin = context.get_admin_context()
    snapshots = objects.SnapshotList.get_all_for_volume(admin, volume_id)
    if any(snapshot.status in _WORKING for snapshot in snapshots):
        return True
    sources: list[dict[str, Any]] = [{'source_volid': volume_id}]
    if snapshots:
        sources.append({'snapshot_id': [each.id for each in snapshots]})
    creating = {'status': fields.VolumeStatus.CREATING}
    return any(
        objects.VolumeList.get_all(admin, limit=1, filters=creating | source)
        for source in sources
    )
