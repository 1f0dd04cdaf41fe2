# SPDX-License-Identifier: Apache-2.0

"""An open RBD image, as used by the driver.

During a live migration of the image, librbd could end the volume service, or a
clone could have wrong data; see :doc:`/contributor/architecture`.
"""

from collections.abc import Callable
import contextlib
import time
from typing import Any
import weakref

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import creations
from rbd_volume_options import bindings
from rbd_volume_options import image_arguments
from rbd_volume_options import image_configuration
from rbd_volume_options import image_handles
from rbd_volume_options import layout
from rbd_volume_options import options

LOG = logging.getLogger(__name__)

# librbd's bit of an image in a live migration, as source or as target. Older
# Python bindings have no name for it.
_MIGRATING = 1 << 9


def reset(image: bindings.Image) -> None:
    """Remove the entries that a new image inherited."""
    name = image_configuration.CACHE_OVERRIDE
    if name in image_configuration.reset(image):
        LOG.info(
            'Removed the inherited setting %s from image %s',
            name,
            image.get_name(),
        )


def check_removal(image: bindings.Image, snapshot: str) -> None:
    """Check that a snapshot of an open image can be removed.

    :raises SnapshotIsBusy: during a live migration; Cinder keeps the snapshot
    """
    if image.features() & _MIGRATING:
        LOG.error(
            'Snapshot %(snapshot)s of image %(image)s is kept, because the '
            'image is in a live migration (rbd migration). Commit or abort '
            'the migration first.',
            {'snapshot': snapshot, 'image': image.get_name()},
        )
        raise exception.SnapshotIsBusy(snapshot_name=snapshot)


def check_snapshot(image: bindings.Image) -> None:
    """Check that an image can have a new snapshot or clone, or be reverted.

    A revert would keep the current data that are not copied yet.

    :raises ImageMigrating: if the image is in a live migration
    """
    if image.features() & _MIGRATING:
        raise exceptions.ImageMigrating(name=image.get_name())


# The image that the stock driver would create. It does not matter, because a
# volume from another volume inherits all parts that are not set.
_FROM_SOURCE = options.image_values(
    layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE), frozenset()
)

#: Seconds to wait for another call on an image, which may hang.
LONGEST = 30.0

#: Seconds until the OSDs have removed the watch of a killed client, and
#: seconds between two attempts in this time.
WATCHED_FOR = 60.0
PAUSE = 1.0


class Delegate:
    """An object that passes all attributes through to a wrapped object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


class Locks:
    """The locks of the images of a cluster, while handles refer to them."""

    def __init__(self) -> None:
        self._forget()
        # A thread that held a lock does not exist in a process that is forked.
        releases.after_fork(self._forget)

    def _forget(self) -> None:
        self._guard = releases.native_lock()
        self._of: weakref.WeakValueDictionary[tuple[int, str], Any]
        self._of = weakref.WeakValueDictionary()

    def of(self, pool: int, name: str) -> Any:
        """Return the lock of an image."""
        with self._guard:
            lock = self._of.get((pool, name))
            if lock is None:
                lock = self._of[pool, name] = releases.native_lock()
            return lock


def stays_open(name: str, clients: Callable[[], list[str]]) -> bool:
    """Return whether clients have an image open, and are no killed ones."""
    until = time.monotonic() + WATCHED_FOR
    while addresses := clients():
        if time.monotonic() > until:
            LOG.error(
                'Clients have image %(name)s open: %(addresses)s',
                {'name': name, 'addresses': ', '.join(addresses)},
            )
            return True
        time.sleep(PAUSE)
    return False


def parent_of(image: bindings.Image) -> creations.Parent:
    """Return what a clone of an open image inherits."""
    return creations.Parent(
        image_handles.state_of(image),
        bool(image_configuration.not_inherited(image)),
    )


class Image(Delegate):
    """``rbd.Image`` that applies the layout to copies.

    :param name: the image's name; None if it was opened by its id
    :param lock: the lock of the image; None for a handle that never has
        librbd's exclusive lock
    """

    def __init__(
        self,
        image: bindings.Image,
        name: str | None,
        librbd: Any,
        lock: Any = None,
    ) -> None:
        super().__init__(image)
        self._name = name
        self._librbd = librbd
        self._lock = lock

    @property
    def _aside(self) -> Any:
        # The stock driver makes some calls in the thread that runs eventlet.
        return releases.off_main_thread(self._wrapped)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._aside, name)

    def __enter__(self) -> 'Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the image."""
        self._alone(self._wrapped.close)

    def _alone(
        self, call: Callable[..., Any], *args: object, **kw: object
    ) -> None:
        """Make a call while no other of these is made on the same image.

        librbd forwards the request for a snapshot to the handle that has the
        exclusive lock. If that is closed meanwhile, the answer is lost, librbd
        repeats the request, and the snapshot already exists.
        """

        def run() -> None:
            # After LONGEST, this goes on without the lock.
            taken = self._lock and self._lock.acquire(timeout=LONGEST)
            try:
                call(*args, **kw)
            finally:
                if taken:
                    self._lock.release()

        releases.off_main_thread(run)()

    def resize(self, size: int, *args: object, **kwargs: object) -> None:
        """Resize the image, after a check of the new size if there is one."""
        if image_handles.has_room_for_header(self._wrapped, size):
            return
        check = self._librbd.size_checks.get(self._name)
        if check is not None:
            check(self._wrapped, size)
            # A late extension must not truncate what was extended since.
            kwargs['allow_shrink'] = False
        self._wrapped.resize(size, *args, **kwargs)

    def update_features(self, mask: int, enabled: bool) -> None:
        """Enable or disable features, which then differ from the plan."""
        creation = self._librbd.creations.get(self._name)
        if creation is not None:
            creation.state = None
        image_handles.update_features(self._wrapped, mask, enabled)

    def copy(
        self,
        dest_ioctx: bindings.Ioctx,
        dest_name: str,
        *args: object,
        **kwargs: object,
    ) -> None:
        """Copy the image as the new volume requests."""
        creation = self._librbd.creations.get(dest_name)
        if creation is None:
            self._wrapped.copy(dest_ioctx, dest_name, *args, **kwargs)
            return
        with creation.noting():
            state = image_handles.state_of(self._wrapped)
            how = creation.plan(state, state)
            arguments = {**kwargs, **image_arguments.create_arguments(how)}
            with self._librbd.making(creation, dest_ioctx):
                self._wrapped.copy(dest_ioctx, dest_name, *args, **arguments)
                with self._librbd.Image(dest_ioctx, dest_name) as copied:
                    reset(copied)
                    image_configuration.change(copied, how.configuration)
                    creation.state = image_handles.state_of(
                        copied,
                        lambda pool_id: (
                            how.data_pool or self._librbd.pool_name(pool_id)
                        ),
                    )

    # The source's snapshot for a clone. If a step fails, the stock driver's
    # clean-up can fail too and hide the failure, so that it is recorded.

    def create_snap(self, name: str, *args: object, **kwargs: object) -> None:
        """Create a snapshot, after a check that its clone is possible."""
        creation = self._librbd.clone_of(name)
        with self._noting(name):
            releases.off_main_thread(check_snapshot)(self._wrapped)
            if creation is not None:
                creation.parent = releases.off_main_thread(parent_of)(
                    self._wrapped
                )
                creation.plan(_FROM_SOURCE, creation.parent.state)
            self._alone(self._wrapped.create_snap, name, *args, **kwargs)

    def protect_snap(self, name: str) -> None:
        """Protect a snapshot and record a failure."""
        with self._noting(name):
            self._alone(self._wrapped.protect_snap, name)

    def unprotect_snap(self, name: str) -> None:
        """Unprotect a snapshot, unless the image is in a live migration."""
        self._alone(self._removing, self._wrapped.unprotect_snap, name)

    def remove_snap(self, name: str, *args: object, **kwargs: object) -> None:
        """Remove a snapshot, unless the image is in a live migration."""
        remove = self._wrapped.remove_snap
        self._alone(self._removing, remove, name, *args, **kwargs)

    def rollback_to_snap(self, name: str) -> None:
        """Revert the image, unless another image has a part of its data."""
        check_snapshot(self._wrapped)
        self._wrapped.rollback_to_snap(name)

    def _removing(
        self,
        call: Callable[..., Any],
        name: str,
        *args: object,
        **kwargs: object,
    ) -> None:
        check_removal(self._wrapped, name)
        call(name, *args, **kwargs)

    def _noting(
        self, snapshot: str
    ) -> contextlib.AbstractContextManager[None]:
        creation = self._librbd.clone_of(snapshot)
        return creation.noting() if creation else contextlib.nullcontext()


def watchers_of(driver: protocols.Driver, name: str) -> list[dict[str, Any]]:
    """Return the watchers of an image, but not a read-only handle.

    The stock driver runs ``rbd status`` for each image that can be managed.
    """
    with driver.images.opened(name, read_only=True) as image:
        return list(image.watchers_list())
