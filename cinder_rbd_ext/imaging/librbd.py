# SPDX-License-Identifier: Apache-2.0

"""librbd's Python module, as used by the driver.

This adds the layout, the features and the data pool to the three calls with
which the stock driver creates images: ``RBD.create``, ``RBD.clone`` and
``Image.copy``. All other calls are passed through.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import errno
from typing import Any
import weakref

from oslo_log import log as logging

from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import open_image
from rbd_volume_options import backend_settings
from rbd_volume_options import bindings
from rbd_volume_options import features
from rbd_volume_options import image_arguments
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)
# Arguments of librbd's functions are named features.
_from_mask = features.from_mask

PoolName = Callable[[int], str]


class Librbd(open_image.Delegate):
    """The module ``rbd``, with ``RBD`` and ``Image`` that keep layouts."""

    def __init__(
        self, module: Any, creations: creations.Creations, pool_name: PoolName
    ) -> None:
        super().__init__(module)
        self.creations = creations
        self.pool_name = pool_name
        self._opened: dict[int, weakref.WeakSet[open_image.Image]] = {}
        #: Checks an open image before its size, in bytes, changes.
        self.size_checks: dict[str | None, Callable[[Any, int], None]] = {}
        self._locks = open_image.Locks()

    def RBD(self) -> 'RBD':
        """Return the object that creates, clones and removes images."""
        return RBD(self._wrapped.RBD(), self)

    def Image(
        self,
        ioctx: bindings.Ioctx,
        name: str | None = None,
        *args: object,
        **kwargs: object,
    ) -> open_image.Image:
        """Open an image, outside the thread that runs all of eventlet.

        :raises ImageNotFound: also for a name that is no text, as in the
            reference to an image to manage. librbd's Python binding would then
            close an image that it has not opened, which ends the process.
        """
        text: Any
        for text in (name, kwargs.get('snapshot')):
            try:
                str.encode('' if text is None else text)
            except (TypeError, UnicodeEncodeError) as error:
                reason = f'{text!r} is not a name'
                raise self._wrapped.ImageNotFound(reason) from error
        opened = releases.off_main_thread(self._wrapped.Image)
        lock = None
        if name is not None and not kwargs.get('read_only'):
            lock = self._locks.of(ioctx.get_pool_id(), name)
        image = open_image.Image(
            opened(ioctx, name, *args, **kwargs), name, self, lock
        )
        self._opened.setdefault(id(ioctx), weakref.WeakSet()).add(image)
        return image

    def close_images(self, ioctx: bindings.Ioctx) -> None:
        """Close the open images of a context that is about to be closed.

        The stock driver does not close the source if a clone fails. An image
        that is closed after its connection blocks the whole volume service.
        """
        for image in self._opened.pop(id(ioctx), ()):
            try:
                image.close()
            except Exception:
                LOG.exception('Could not close an image')

    def clone_of(self, snapshot: object) -> creations.Creation | None:
        """Return the creation of a clone, by its snapshot on the source."""
        name = str(snapshot)
        if not name.endswith(image_handles.CLONE_SNAPSHOT):
            return None
        return self.creations.get(
            name.removesuffix(image_handles.CLONE_SNAPSHOT)
        )

    def read_parent(
        self, ioctx: bindings.Ioctx, name: str
    ) -> creations.Parent:
        """Return what a clone of an image inherits."""
        opened = self._wrapped.Image(ioctx, name, read_only=True)
        with contextlib.closing(opened) as image:
            return open_image.parent_of(image)

    def default_striping(
        self, ioctx: bindings.Ioctx
    ) -> layout.Striping | None:
        """Return the default striping of a pool, with that of ceph.conf."""
        return backend_settings.striping_in(self.pool_options(ioctx))

    def pool_options(self, ioctx: bindings.Ioctx) -> dict[str, str]:
        """Return the configuration of a pool, defaults included.

        It queries the OSDs, also for calls in the thread that runs eventlet.
        """

        def read() -> dict[str, str]:
            listed = self._wrapped.RBD().config_list(ioctx)
            return {option['name']: option['value'] for option in listed}

        return dict(releases.off_main_thread(read)())

    def is_there(self, ioctx: bindings.Ioctx, name: str) -> bool:
        """Return whether an image exists, without opening it."""
        try:
            ioctx.stat(f'rbd_id.{name}')
        except Exception as error:
            if getattr(error, 'errno', None) == errno.ENOENT:
                return False
            raise
        return True

    @contextlib.contextmanager
    def making(
        self, creation: creations.Creation, ioctx: bindings.Ioctx
    ) -> Iterator[None]:
        """Record in a creation that its image exists, at least partly.

        A call that fails may have created it, if it timed out or could not
        undo its first steps. An image that existed before does not belong to
        the creation.
        """
        there_before = self.is_there(ioctx, creation.name)
        try:
            yield
        except self._wrapped.ImageExists:
            raise
        except Exception:
            if not there_before:
                creation.was_made()
            raise
        creation.was_made()

    def complete_removal(self, ioctx: bindings.Ioctx, name: str) -> bool:
        """Remove what an interrupted removal has left; False for nothing.

        librbd moves an image to the trash before it removes the data. Then the
        image cannot be opened, and librbd does not list it in the trash. A
        second removal finds it there by its name, and continues.
        """
        try:
            self._wrapped.RBD().remove(ioctx, name)
        except self._wrapped.ImageNotFound:
            return False
        return True

    def discard(self, ioctx: bindings.Ioctx, name: str) -> None:
        """Remove a complete or partial image; failures are logged."""
        try:
            if not self.complete_removal(ioctx, name):
                LOG.debug('Image %s does not exist', name)
        except self._wrapped.Error:
            LOG.exception('Could not remove the incomplete image %s', name)


class RBD(open_image.Delegate):
    """``rbd.RBD`` that applies the layout to new images and clones."""

    def __init__(self, rbd: bindings.RBD, librbd: Librbd) -> None:
        super().__init__(rbd)
        self._librbd = librbd

    def create(
        self,
        ioctx: bindings.Ioctx,
        name: str,
        size: int,
        order: int | None = None,
        old_format: bool = False,
        features: int | None = None,
        **kwargs: object,
    ) -> None:
        """Create an image as its volume requests."""
        creation = self._librbd.creations.get(name)
        arguments = {'order': order, 'features': features, **kwargs}
        if creation is None:
            self._wrapped.create(
                ioctx, name, size, old_format=old_format, **arguments
            )
            return
        with creation.noting():
            options = self._librbd.pool_options(ioctx)
            striping = None
            if creation.needs_default_striping:
                striping = backend_settings.striping_in(options)
            object_size = 1 << order if order else layout.DEFAULT_OBJECT_SIZE
            wanted = _from_mask(features or 0)
            base = plan.stock_image(object_size, striping, wanted)
            arguments.update(
                image_arguments.create_arguments(creation.plan(base))
            )
            with self._librbd.making(creation, ioctx):
                self._wrapped.create(
                    ioctx, name, size, old_format=old_format, **arguments
                )
            creation.state = image_arguments.made_values(
                ioctx.get_pool_name(), arguments, options
            )

    def clone(
        self,
        p_ioctx: bindings.Ioctx,
        p_name: str,
        p_snapname: str,
        c_ioctx: bindings.Ioctx,
        c_name: str,
        features: int | None = None,
        order: int | None = None,
        **kwargs: object,
    ) -> None:
        """Clone a snapshot as the new volume requests."""
        creation = self._librbd.creations.get(c_name)
        arguments = {'features': features, 'order': order, **kwargs}
        if creation is None:
            self._wrapped.clone(
                p_ioctx, p_name, p_snapname, c_ioctx, c_name, **arguments
            )
            return
        with creation.noting():
            parent = creation.parent
            if parent is None:
                parent = self._librbd.read_parent(p_ioctx, p_name)
            wanted = _from_mask(features or 0)
            base = parent.state.with_values({keys.FEATURES: wanted})
            how = creation.plan(base, parent.state)
            arguments.update(image_arguments.create_arguments(how))
            options = self._librbd.pool_options(c_ioctx)
            with self._librbd.making(creation, c_ioctx):
                self._wrapped.clone(
                    p_ioctx, p_name, p_snapname, c_ioctx, c_name, **arguments
                )
            creation.inherits_configuration = parent.has_configuration
            if how.has_layout:
                # Without one, librbd keeps parts of the parent's.
                creation.state = image_arguments.made_values(
                    c_ioctx.get_pool_name(), arguments, options
                )

    def remove(
        self, ioctx: bindings.Ioctx, name: str, *args: object, **kwargs: object
    ) -> None:
        """Remove an image, unless its creation has just failed.

        The stock driver's clean-up uses a closed connection, or removes an
        image that existed before. :class:`Creation` cleans up instead.
        """
        creation = self._librbd.creations.get(name)
        if creation is not None and creation.failure is not None:
            LOG.debug('The clean-up will remove image %s', name)
            return
        self._wrapped.remove(ioctx, name, *args, **kwargs)
