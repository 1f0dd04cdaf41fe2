# SPDX-License-Identifier: Apache-2.0

"""Deletion of volumes, and of leftovers of their clones."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import time
from typing import Any
from typing import NoReturn

from cinder import context
from cinder import exception
from cinder import objects
from cinder.volume import rpcapi
from cinder.volume.drivers import rbd
from oslo_config import cfg
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext import turns
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import removals
from cinder_rbd_ext.lifecycle import clone_sources
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import trash
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import wire

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

_DELETING = 'deleting'


@dataclasses.dataclass
class _Deletion:
    """The deletion of a volume.

    :ivar is_deferred: whether the image is moved to the trash
    :ivar reference: the snapshot from which its image was cloned
    :ivar has_clones: whether the image is kept for its clones; also true if it
        was not found
    :ivar has_snapshots: whether the image still has snapshots, such as those
        that were removed while they had clones; false if it was not found
    """

    sources: clone_sources.CloneSources
    is_deferred: bool
    reference: clone_sources.Reference | None = None
    has_clones: bool = True
    has_snapshots: bool = False
    is_found: bool = False


class Deletions:
    """Removes the snapshot of a clone from its source, and unused sources.

    The stock driver does this only if the clone itself cannot be removed
    immediately. A failure is logged: the next deletion tries again.
    """

    def __init__(
        self, driver: protocols.Driver, under_way: creations.Creations
    ) -> None:
        self._driver = driver
        self._under_way = under_way
        self._current: dict[str, _Deletion] = {}
        self.turns = turns.Turns()
        # Postponed deletions begin again when the service starts. By Cinder's
        # default, it would end them all before it takes requests. Only the
        # volume manager, which creates the driver, has the option.
        with contextlib.suppress(cfg.NoSuchOptError):
            CONF.set_default('volume_service_inithost_offload', True)

    def in_turn(
        self, volume: protocols.Volume, delete: Callable[[Any], None]
    ) -> None:
        """Delete a volume after other deletions, or raise ``Postponed``.

        The stock driver also deletes an image to replace it. That is part of a
        creation and does not wait.

        :raises Superseded: if its status was reset meanwhile
        """

        def run() -> None:
            is_request = _request(volume, can_wait=False) is not None
            if is_request and marker.status_of(volume.id) != _DELETING:
                raise marker.Superseded(volume.id)
            delete(volume)

        if self._under_way.get(volume.name) is not None:
            delete(volume)
        else:
            project = volume.project_id
            self.turns.run(volume.name, project, run, _request(volume))

    def repeat(self, volume: protocols.Volume, error: Exception) -> NoReturn:
        """End the deletion of a volume that must not become available.

        :raises Postponed: if it is requested again; the status is kept
        :raises VolumeBackendAPIException: otherwise
        """
        request = _request(volume, can_wait=False)
        if request is not None:
            self.turns.quick.postpone(volume.project_id, request)
        raise exception.VolumeBackendAPIException(data=str(error)) from error

    @contextlib.contextmanager
    def deleting(
        self, volume: protocols.Volume, client: protocols.Client
    ) -> Iterator[None]:
        """Delete a volume, then the sources that only it required."""
        is_deferred = self._driver.configuration.enable_deferred_deletion
        deletion = _Deletion(self._clone_sources(client), is_deferred)
        removers = self._driver.librbd.removers
        with contextlib.ExitStack() as stack:
            self._current[volume.name] = deletion
            stack.callback(self._current.pop, volume.name)
            if is_deferred:
                removers[volume.name] = functools.partial(self._move, deletion)
                stack.callback(removers.pop, volume.name)
            yield
        if not deletion.is_found and not self._under_way.get(volume.name):
            # The stock driver considers such a volume deleted.
            try:
                self._complete(client, volume.name)
            except self._driver.rbd.ImageBusy as error:
                # A part of the data may be lost.
                self.repeat(volume, error)
        with self._clean_up(volume.name):
            # The image does not name its source if the clone was flattened.
            # There is no image if its creation was interrupted early.
            reference = deletion.reference or _recorded(volume)
            if reference and not deletion.sources.is_there(volume.name):
                deletion.sources.release(reference)
                kept = reference.source + wire.DELETED_SOURCE
                if not deletion.is_found and not (
                    deletion.sources.is_there(kept)
                ):
                    # The deletion of its last clone removes the source, too.
                    self._complete(client, kept)
            if deletion.has_clones:
                deletion.sources.settle(volume.name + wire.DELETED_SOURCE)

    def _move(
        self,
        deletion: _Deletion,
        rbd: bindings.RBD,
        ioctx: bindings.Ioctx,
        name: str,
    ) -> None:
        """Move an image to the trash where the stock driver would remove it.

        An image with snapshots is refused the first time, as by librbd, and
        the stock driver then flattens the clones. In the trash, the image
        could not be purged until the clones are deleted.
        """
        if deletion.has_snapshots:
            deletion.has_snapshots = False
            raise self._driver.rbd.ImageHasSnapshots(f'{name} has snapshots')
        delay = self._driver.configuration.deferred_deletion_delay
        rbd.trash_move(ioctx, name, delay)

    def _complete(self, client: protocols.Client, name: str) -> None:
        """Complete an earlier removal of an image, if it was interrupted.

        :raises ImageBusy: if a client has it open
        """
        librbd = releases.off_the_hub(self._driver.librbd)
        until = time.monotonic() + trash.WATCHED_FOR
        while True:
            try:
                if librbd.complete_removal(client.ioctx, name):
                    LOG.info('Completed the removal of image %s', name)
                return
            except self._driver.rbd.ImageBusy:
                if time.monotonic() > until:
                    raise
            time.sleep(trash.PAUSE)

    def opened(self, image: bindings.Image) -> None:
        """Remove the unused snapshots of the image of a deleted volume.

        :raises Slow: if the deletion must begin again in its turn
        :raises VolumeIsBusy: if it has clones, and a client has it open
        """
        name = image.get_name()
        deletion = self._current.get(name)
        if deletion is None:
            return
        deletion.is_found = deletion.has_snapshots = True
        with self._clean_up(name):
            deletion.sources.drop_unneeded(image)
            deletion.has_clones = any(
                each.endswith(wire.CLONE_SNAPSHOT)
                for each in image_handles.snapshot_names(image)
            )
            deletion.reference = clone_sources.reference_of(
                self._driver, image
            )
            deletion.has_snapshots = any(image.list_snaps())
        clients = functools.partial(
            image_handles.clients_of, image, self._driver.rbd, own=1
        )
        if deletion.has_clones and trash.stays_open(name, clients):
            # The stock driver would rename it under a server that uses it.
            raise exception.VolumeIsBusy(volume_name=name)
        self.turns.check(name, functools.partial(_is_slow, image, deletion))
        if not deletion.is_deferred and not deletion.has_snapshots:
            with self._clean_up(name):
                image_handles.rebuild_map(image)

    def release_parent(
        self, client: protocols.Client, parent_name: str, parent_snap: str
    ) -> None:
        """Remove a clone's snapshot of a parent if no clone uses it."""
        with self._clean_up(parent_name):
            self._clone_sources(client).release(
                clone_sources.Reference(
                    parent_name.removesuffix(wire.DELETED_SOURCE), parent_snap
                )
            )

    @contextlib.contextmanager
    def purging(self) -> Iterator[None]:
        """Remove what only the trash required, while it is purged.

        Failures are logged: an exception would end the periodic purge until
        the service restarts.
        """
        removable: set[str] = set()
        purge = removals.Purge(
            self._driver.librbd, self._before_purge, removable
        )
        with _logged():
            # Here, because librbd's calls are in another thread.
            removable.update(trash.removable(self._driver))
        with _logged():
            self._driver.librbd.purge = purge
            try:
                yield
            finally:
                self._driver.librbd.purge = None
        with _logged():
            if purge.released:
                self._settle_all(purge.released)

    def _before_purge(
        self, image: bindings.Image
    ) -> clone_sources.Reference | None:
        reference = None
        with self._clean_up('the trash'):
            reference = clone_sources.reference_of(self._driver, image)
            if not any(image.list_snaps()):
                image_handles.rebuild_map(image)
        return reference

    def _settle_all(
        self, released: list[clone_sources.Reference | None]
    ) -> None:
        with rbd.RADOSClient(self._driver) as client:
            sources = self._clone_sources(client)
            for reference in filter(None, released):
                with self._clean_up(reference.source):
                    sources.release(reference)
            for name in self._driver.RBDProxy().list(client.ioctx):
                if name.endswith(wire.DELETED_SOURCE):
                    with self._clean_up(name):
                        # Another cloud may use the pool.
                        if trash.is_deleted(self._driver, name):
                            sources.settle(name)

    def _clone_sources(
        self, client: protocols.Client
    ) -> clone_sources.CloneSources:
        return clone_sources.CloneSources(
            self._driver, client, self._under_way
        )

    @contextlib.contextmanager
    def _clean_up(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if blocklisting.is_repeated(self._driver, error):
                raise
            LOG.exception('Could not clean up after the deletion of %s', name)


def check_not_forgotten(group_id: str | None, busy: Exception) -> None:
    """Check that Cinder keeps the record of what could not be deleted.

    If a volume or a snapshot of a group is busy, its manager goes on, removes
    the records of the whole group, and leaves the image or its snapshot.

    :param group_id: of the group or group snapshot; None if there is none
    :raises VolumeBackendAPIException: if there is one; Cinder then sets all to
        ``error``, and they can be deleted again
    """
    if group_id:
        raise exception.VolumeBackendAPIException(data=str(busy)) from busy


def _request(
    volume: protocols.Volume, can_wait: bool = True
) -> Callable[[], None] | None:
    """Return a function that requests the deletion of a volume again.

    None for a part of another operation: Cinder would not begin it again after
    a restart. At the start of the service, deletions can wait in threads that
    handle no requests, unless the operator has all of them end before.
    """
    worker = getattr(volume, 'worker', None)
    if worker is None or worker.status != _DELETING:
        return None
    if worker.cleaning and (
        can_wait or not CONF.volume_service_inithost_offload
    ):
        return None
    return functools.partial(_request_again, volume._context, volume.id)


def _request_again(ctxt: protocols.Context, volume_id: str) -> None:
    """Request the deletion of a volume, unless it has ended.

    Cinder's own method would first give up the entry in the table of workers,
    by which a restart finds the deletion.
    """
    try:
        volume = objects.Volume.get_by_id(ctxt.elevated(), volume_id)
    except exception.VolumeNotFound:
        return
    if volume.status == _DELETING:
        client = rpcapi.VolumeAPI()._get_cctxt(volume.service_topic_queue)
        # Cinder has already deleted the snapshots of a cascade.
        client.cast(
            ctxt,
            'delete_volume',
            volume=volume,
            unmanage_only=False,
            cascade=False,
        )


def _is_slow(image: bindings.Image, deletion: _Deletion) -> bool:
    if deletion.has_clones:
        # The stock driver only renames the image.
        return False
    if deletion.has_snapshots:
        # It flattens the clones of deleted snapshots.
        return True
    if deletion.is_deferred:
        return False
    if deletion.reference is not None and deletion.reference.is_deleted:
        # The source, of any size, is removed with its last clone.
        return True
    return image_handles.is_slow_to_remove(image)


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except Exception:
        LOG.exception('Could not purge the whole trash')


def _recorded(volume: protocols.Volume) -> clone_sources.Reference | None:
    if not volume.source_volid:
        return None
    try:
        source = objects.Volume.get_by_id(
            context.get_admin_context(read_deleted='yes'), volume.source_volid
        ).name
    except exception.VolumeNotFound:
        source = CONF.volume_name_template % volume.source_volid
    return clone_sources.Reference(source, volume.name + wire.CLONE_SNAPSHOT)
