# SPDX-License-Identifier: Apache-2.0

"""The names of the images of a retype, and their swap.

Three names belong to a retype: that of the volume's image, that of the copy
(with the id of the request), and that of the kept source (with its image id).
A swap renames the image to the name of the kept source and then the copy to
the name of the image. librbd changes three objects in a rename: it creates the
object with the new name, changes the entry of the directory, and removes the
object with the old name. A process that is killed in between leaves an image
with two names, which librbd itself neither completes nor undoes.
:meth:`Images.swap` continues from each of these states, and can be repeated.

A migration makes its copy in another pool, where it gets the name of the
volume's image. The image keeps its name until Cinder has saved the new back
end.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import TypeVar

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.retype import marker
from rbd_volume_options import bindings
from rbd_volume_options import ownership
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

_DIRECTORY = 'rbd_directory'
_CLASS = 'rbd'

_Result = TypeVar('_Result')

id_of = ownership.id_of


class CopyFailed(exception.VolumeBackendAPIException):
    """A copy is not like its source, or the source has changed."""

    message = '%(reason)s'


def run(
    driver: protocols.Driver, function: Callable[..., _Result], *pools: str
) -> _Result:
    """Run a function of contexts, which may block.

    :param pools: pools of the contexts; by default, that of the back end
    """
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(rbd.RADOSClient(driver, pool))
            for pool in pools or (None,)
        ]
        call = functools.partial(function, *(each.ioctx for each in clients))
        result: _Result = releases.off_main_thread(call)()
        return result


def image_id(driver: protocols.Driver, name: str) -> str:
    """Return the id of an image.

    :raises VolumeBackendAPIException: if the image does not exist
    """
    ident = run(driver, lambda ioctx: id_of(ioctx, name))
    if ident is None:
        raise exception.VolumeBackendAPIException(
            data=f'RBD image {name} does not exist'
        )
    return ident


def kept_name(name: str, ident: str) -> str:
    """Return the name of an image after its copy has replaced it."""
    return f'{name}{wire.RETYPE_SOURCE}{ident}'


class Images:
    """The image of a volume and its copy, as the marker has them.

    :ivar name: name of the volume's image
    :ivar kept_name: its name after the swap
    :ivar pool: pool of the copy
    :ivar is_moved: whether this is a migration
    """

    def __init__(
        self, driver: protocols.Driver, name: str, mark: marker.Marker
    ) -> None:
        self.driver = driver
        self.name = name
        self.own_pool = str(driver.configuration.rbd_pool)
        self.source_id = mark.source_id
        self.kept_name = kept_name(name, mark.source_id)
        request = mark.request.removeprefix('req-')
        self.copy_name = f'{name}{wire.RETYPE_COPY}{request}'
        self.pool = mark.pool or self.own_pool
        self.is_moved = bool(mark.pool)

    def swap(self, copy_id: str) -> None:
        """Replace the image by its copy; complete an interrupted swap.

        A service that was stopped for a while may find that another one has
        removed the copy. The image then has its name again.

        :raises CopyFailed: if the copy does not exist, or a name belongs to
            another image
        """

        def run_swap(ioctx: bindings.ObjectIoctx) -> None:
            try:
                self._swap(ioctx, copy_id)
            except CopyFailed:
                self._restore_misplaced(ioctx)
                raise

        run(self.driver, run_swap)

    def complete_swap(self, copy_id: str) -> bool:
        """Complete a swap that has begun; return whether it has.

        It is undone if the copy does not exist.

        :param copy_id: of the verified copy; empty if there is none
        """

        def complete(ioctx: bindings.ObjectIoctx) -> bool:
            ident = id_of(ioctx, self.name)
            copies = {ident}
            if id_of(ioctx, self.kept_name) == self.source_id:
                copies.add(id_of(ioctx, self.copy_name))
            # With its own name, a client may have opened the source since.
            if copy_id in copies and ident != self.source_id:
                self._swap(ioctx, copy_id)
                return True
            self._restore_misplaced(ioctx)
            return False

        return run(self.driver, complete)

    def _swap(self, ioctx: bindings.ObjectIoctx, copy_id: str) -> None:
        if id_of(ioctx, self.name) != copy_id:
            if id_of(ioctx, self.copy_name) != copy_id:
                raise CopyFailed(reason=f'{self.copy_name} does not exist')
            self.rename(ioctx, self.name, self.kept_name, self.source_id)
        self.rename(ioctx, self.copy_name, self.name, copy_id)

    def swap_back(self, copy_id: str) -> None:
        """Give the image its name again, and the copy that of a copy.

        An interruption leaves what one of :meth:`swap` leaves.
        """

        def back(ioctx: bindings.ObjectIoctx) -> None:
            if id_of(ioctx, self.name) != self.source_id:
                if id_of(ioctx, self.kept_name) != self.source_id:
                    raise CopyFailed(
                        reason=f'Image {self.source_id} is not '
                        f'{self.kept_name}'
                    )
                self.rename(ioctx, self.name, self.copy_name, copy_id)
            self.rename(ioctx, self.kept_name, self.name, self.source_id)

        run(self.driver, back)

    def _restore_misplaced(self, ioctx: bindings.ObjectIoctx) -> None:
        """Undo a swap without a copy. The image may have both names."""
        if id_of(ioctx, self.kept_name) == self.source_id and id_of(
            ioctx, self.name
        ) in (None, self.source_id):
            LOG.error('Copy %s does not exist; restoring', self.copy_name)
            self.rename(ioctx, self.kept_name, self.name, self.source_id)

    def rename(
        self, ioctx: bindings.ObjectIoctx, source: str, target: str, ident: str
    ) -> None:
        """Rename an image; complete an interrupted rename."""
        has_old = id_of(ioctx, source) == ident
        target_id = id_of(ioctx, target)
        if target_id is None and has_old:
            self.driver.rbd.RBD().rename(ioctx, source, target)
            return
        if target_id != ident:
            raise CopyFailed(
                reason=f'Image {ident} is neither {source} nor {target}, '
                f'which is image {target_id}'
            )
        if not has_old:
            return
        LOG.warning(
            'Completing the interrupted rename of image %(id)s from '
            '%(source)s to %(target)s',
            {'id': ident, 'source': source, 'target': target},
        )
        image = ownership.encoded(ident)
        _, data = ioctx.execute(_DIRECTORY, _CLASS, 'dir_get_name', image)
        if ownership.decoded(data) == source:
            ioctx.execute(
                _DIRECTORY,
                _CLASS,
                'dir_rename_image',
                b''.join(map(ownership.encoded, (source, target, ident))),
            )
        ioctx.remove_object(f'rbd_id.{source}')

    # In the pool to which a migration copies the image

    def place(self, copy_id: str) -> None:
        """Give the copy there the name of the volume's image."""
        run(
            self.driver,
            lambda ioctx: self.rename(
                ioctx, self.copy_name, self.name, copy_id
            ),
            self.pool,
        )

    def is_placed(self) -> bool:
        """Return whether the pool has an image of the volume."""
        return run(
            self.driver,
            lambda ioctx: id_of(ioctx, self.name) is not None,
            self.pool,
        )
