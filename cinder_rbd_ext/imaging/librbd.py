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

"""librbd's Python module, as used by the driver.

The stock driver creates images through librbd with three calls:
``RBD.create``, ``RBD.clone`` and ``Image.copy``. This module adds the layout,
the features and the data pool to them. All other calls are passed through.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any
import weakref

from oslo_log import log as logging

from cinder_rbd_ext.attach import conf_rbd_cache
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import existing
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)
# Arguments of librbd's functions are named features.
_from_mask = features.from_mask

PoolName = Callable[[int], str]

# Suffix of the source's snapshot, which has the name of the new volume.
_CLONE_SNAPSHOT = '.clone_snap'


class _Delegate:
    """An object that passes all attributes through to a wrapped object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


class Librbd(_Delegate):
    """The module ``rbd``, with ``RBD`` and ``Image`` that keep layouts.

    :param module: the real module
    :param creations: the images that are being created
    :param pool_name: returns the name of a pool by its id
    """

    def __init__(
        self,
        module: Any,
        creations: creations.Creations,
        pool_name: PoolName,
    ) -> None:
        super().__init__(module)
        self._creations = creations
        self._pool_name = pool_name
        self._opened: dict[int, weakref.WeakSet[Image]] = {}

    def RBD(self) -> 'RBD':
        """Return the object that creates, clones and removes images."""
        return RBD(self._wrapped.RBD(), self)

    def Image(self, ioctx: Any, *args: Any, **kwargs: Any) -> 'Image':
        """Open an image."""
        image = Image(self._wrapped.Image(ioctx, *args, **kwargs), self)
        self._opened.setdefault(id(ioctx), weakref.WeakSet()).add(image)
        return image

    def close_images(self, ioctx: Any) -> None:
        """Close the open images of a context that is about to be closed.

        The stock driver does not close the source if a clone fails. If an
        image is closed or garbage-collected after its connection, it waits
        forever for threads that have ended, and blocks the whole volume
        service.
        """
        for image in self._opened.pop(id(ioctx), ()):
            try:
                image.close()
            except Exception:
                LOG.exception('Could not close an image')

    def creation_of(self, name: object) -> creations.Creation | None:
        """Return the current creation of an image, or None."""
        return self._creations.get(name)

    def clone_of(self, snapshot: object) -> creations.Creation | None:
        """Return the creation of a clone, by its snapshot on the source."""
        name = str(snapshot)
        if not name.endswith(_CLONE_SNAPSHOT):
            return None
        return self._creations.get(name.removesuffix(_CLONE_SNAPSHOT))

    def read_state(self, ioctx: Any, name: str) -> plan.ImageState:
        """Return layout, features and data pool of an image."""
        image = self._wrapped.Image(ioctx, name, read_only=True)
        try:
            return self.state_of(image)
        finally:
            image.close()

    def state_of(self, image: Any) -> plan.ImageState:
        """Return layout, features and data pool of an open image."""
        return existing.state_of(image, self._pool_name)

    def default_striping(self, ioctx: Any) -> layout.Striping | None:
        """Return librbd's default striping for a new image.

        It is set in the pool's configuration, ceph.conf or the monitors.
        """
        found = {
            option['name']: int(option['value'])
            for option in self._wrapped.RBD().config_list(ioctx)
            if option['name'].startswith('rbd_default_stripe_')
        }
        unit = found.get(wire.RBD_DEFAULT_STRIPE_UNIT, 0)
        count = found.get(wire.RBD_DEFAULT_STRIPE_COUNT, 0)
        return layout.Striping(unit, count) if unit and count else None

    def is_there(self, ioctx: Any, name: str) -> bool:
        """Return whether an image exists."""
        try:
            self._wrapped.Image(ioctx, name, read_only=True).close()
        except self._wrapped.ImageNotFound:
            return False
        return True

    @contextlib.contextmanager
    def making(
        self, creation: creations.Creation, ioctx: Any
    ) -> Iterator[None]:
        """Record in a creation that its image exists, at least partly.

        A call that fails may have created it, if the call timed out or could
        not undo its first steps. An image that existed before does not belong
        to the creation.
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

    def discard(self, ioctx: Any, name: str) -> None:
        """Remove a complete or partial image; failures are logged."""
        try:
            self._wrapped.RBD().remove(ioctx, name)
        except self._wrapped.ImageNotFound:
            LOG.debug('Image %s does not exist', name)
        except self._wrapped.Error:
            LOG.exception('Could not remove the incomplete image %s', name)


def arguments(how: plan.ImagePlan) -> dict[str, Any]:
    """Return librbd's arguments for the values that a plan sets.

    Unit and count are always both set: without them, a clone with its own
    order is refused or loses its layout, and a new image uses ceph.conf.
    """
    given: dict[str, Any] = {}
    if how.layout:
        given.update(
            order=how.layout.order,
            stripe_unit=how.layout.stripe_unit,
            stripe_count=how.layout.stripe_count,
        )
    if how.image_features is not None:
        wanted = how.image_features & features.CHOOSABLE
        given['features'] = features.to_mask(wanted)
    if how.data_pool:
        given['data_pool'] = how.data_pool
    return given


class RBD(_Delegate):
    """``rbd.RBD`` that applies the layout to new images and clones."""

    def __init__(self, rbd: Any, librbd: Librbd) -> None:
        super().__init__(rbd)
        self._librbd = librbd

    def create(
        self,
        ioctx: Any,
        name: str,
        size: int,
        order: int | None = None,
        old_format: bool = False,
        features: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Create an image as its volume requests."""
        creation = self._librbd.creation_of(name)
        given = {'order': order, 'features': features, **kwargs}
        if creation is None:
            self._wrapped.create(
                ioctx, name, size, old_format=old_format, **given
            )
            return
        with creation.noting():
            striping = None
            if creation.needs_default_striping:
                striping = self._librbd.default_striping(ioctx)
            object_size = 1 << order if order else layout.DEFAULT_OBJECT_SIZE
            wanted = _from_mask(features or 0)
            image_layout = layout.ImageLayout(object_size, striping)
            base = plan.ImageState(image_layout, wanted)
            given.update(arguments(creation.plan(base)))
            with self._librbd.making(creation, ioctx):
                self._wrapped.create(
                    ioctx, name, size, old_format=old_format, **given
                )

    def clone(
        self,
        p_ioctx: Any,
        p_name: str,
        p_snapname: str,
        c_ioctx: Any,
        c_name: str,
        features: int | None = None,
        order: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Clone a snapshot as the new volume requests."""
        creation = self._librbd.creation_of(c_name)
        given = {'features': features, 'order': order, **kwargs}
        if creation is None:
            self._wrapped.clone(
                p_ioctx, p_name, p_snapname, c_ioctx, c_name, **given
            )
            return
        with creation.noting():
            parent = self._librbd.read_state(p_ioctx, p_name)
            wanted = _from_mask(features or 0)
            base = dataclasses.replace(parent, image_features=wanted)
            given.update(arguments(creation.plan(base, parent)))
            with self._librbd.making(creation, c_ioctx):
                self._wrapped.clone(
                    p_ioctx, p_name, p_snapname, c_ioctx, c_name, **given
                )

    def remove(self, ioctx: Any, name: str, *args: Any, **kwargs: Any) -> None:
        """Remove an image, unless its creation has just failed.

        The stock driver's clean-up uses a closed connection, or removes an
        image that existed before. :class:`Creation` cleans up instead.
        """
        creation = self._librbd.creation_of(name)
        if creation is not None and creation.is_to_be_undone:
            LOG.debug('The clean-up will remove image %s', name)
            return
        self._wrapped.remove(ioctx, name, *args, **kwargs)


class Image(_Delegate):
    """``rbd.Image`` that applies the layout to copies."""

    def __init__(self, image: Any, librbd: Librbd) -> None:
        super().__init__(image)
        self._librbd = librbd

    def __enter__(self) -> 'Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._wrapped.close()

    def copy(
        self, dest_ioctx: Any, dest_name: str, *args: Any, **kwargs: Any
    ) -> None:
        """Copy the image as the new volume requests."""
        creation = self._librbd.creation_of(dest_name)
        if creation is None:
            self._wrapped.copy(dest_ioctx, dest_name, *args, **kwargs)
            return
        with creation.noting():
            state = self._librbd.state_of(self._wrapped)
            how = creation.plan(state, state)
            given = {**kwargs, **arguments(how)}
            there_before = self._librbd.is_there(dest_ioctx, dest_name)
            try:
                self._wrapped.copy(dest_ioctx, dest_name, *args, **given)
                with self._librbd.Image(dest_ioctx, dest_name) as copied:
                    conf_rbd_cache.drop(copied)
                    creation.state = self._librbd.state_of(copied)
            except self._librbd.ImageExists:
                raise
            except Exception:
                if not there_before:
                    # librbd does not remove a partial copy.
                    self._librbd.discard(dest_ioctx, dest_name)
                raise
        creation.was_made()

    # The source's snapshot for a clone. If a step fails, the stock driver's
    # clean-up fails too, on a snapshot that does not exist or is not
    # protected, and hides the failure. Creation cleans up instead.

    def create_snap(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Create a snapshot and record a failure."""
        with self._noting(name):
            self._wrapped.create_snap(name, *args, **kwargs)

    def protect_snap(self, name: str) -> None:
        """Protect a snapshot and record a failure."""
        with self._noting(name):
            self._wrapped.protect_snap(name)

    def unprotect_snap(self, name: str) -> None:
        """Unprotect a snapshot, unless its clone has just failed."""
        if not self._has_failed(name):
            self._wrapped.unprotect_snap(name)

    def remove_snap(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Remove a snapshot, unless its clone has just failed."""
        if not self._has_failed(name):
            self._wrapped.remove_snap(name, *args, **kwargs)

    def _noting(
        self, snapshot: str
    ) -> contextlib.AbstractContextManager[None]:
        creation = self._librbd.clone_of(snapshot)
        return creation.noting() if creation else contextlib.nullcontext()

    def _has_failed(self, snapshot: str) -> bool:
        creation = self._librbd.clone_of(snapshot)
        return creation is not None and creation.is_to_be_undone
