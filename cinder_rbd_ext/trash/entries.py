# SPDX-License-Identifier: Apache-2.0

"""Images that the driver moves to the trash of a pool, and finds there.

The trash is the list of what is to be removed. Before the move, the image gets
a mark (:mod:`rbd_volume_options.trash_mark`). A kill between both leaves a
marked image with its name, on which nothing acts: whoever was about to move it
repeats that. A kill during the move leaves the image in the trash. If it still
has its name, the move is repeated, and it is not purged before; otherwise the
purger completes the move.
"""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
import dataclasses
import datetime
import errno
import functools
import time
from typing import Any
from typing import TypeVar

from cinder import context
from cinder import objects
from cinder.volume import volume_utils
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import ownership
from rbd_volume_options import trash_mark

LOG = logging.getLogger(__name__)

# The source of the trash entries that are part of a migration by librbd.
_MIGRATION = 'MIGRATION'
#: The object with librbd's list of the images in the trash.
_DIRECTORY = 'rbd_trash'

_Result = TypeVar('_Result')


@dataclasses.dataclass(frozen=True)
class Entry:
    """An image in the trash that the driver has moved there.

    :ivar until: end of the delay, in UTC
    """

    image_id: str
    name: str
    until: datetime.datetime
    mark: trash_mark.Mark

    @property
    def is_expired(self) -> bool:
        """Whether the delay is over."""
        now = datetime.datetime.now(datetime.timezone.utc)
        return self.until.replace(tzinfo=datetime.timezone.utc) <= now


def prepare(librados: Any, names: Iterable[str], ioctx: Any) -> None:
    """Create the objects that deletions need and a full pool would refuse.

    librbd creates its list of the trash with the first image that it moves
    there. If this fails because the pool is full, it reports that the image
    does not exist.
    """
    for name in (_DIRECTORY, *names):
        with librados.WriteOpCtx() as operation:
            operation.new(0)
            ioctx.operate_write_op(operation, name)


def move(
    driver: protocols.Driver,
    ioctx: Any,
    name: str,
    mark: trash_mark.Mark,
    delay: int = 0,
) -> str:
    """Mark an image and move it to the trash.

    This can be repeated after a failure or a kill.

    :param mark: without the size and the time, which are set here
    :param delay: seconds for which it stays there at least
    :returns: the id of the image
    :raises ImageNotFound: if the image does not exist, or its full pool has no
        list of the trash
    :raises ImageBusy: if the image is in a live migration
    """
    image_id = write_mark(driver, ioctx, name, mark)
    driver.rbd.RBD().trash_move(ioctx, name, delay)
    return image_id


def end(
    driver: protocols.Driver,
    ioctx: Any,
    name: str,
    mark: trash_mark.Mark,
    delay: int,
    is_quick: bool,
) -> bool:
    """Move an image to the trash, and remove it there at once if it is quick.

    Otherwise the purger removes it, and also if this is interrupted or fails,
    as with a client that has the image open.

    :returns: whether it is removed
    :raises: as :func:`move`
    """
    image_id = move(driver, ioctx, name, mark, delay)
    if is_quick and not delay:
        try:
            driver.rbd.RBD().trash_remove(ioctx, image_id, True)
        except driver.rbd.Error as error:
            LOG.info('%s stays in the trash for now: %s', name, error)
        else:
            return True
    driver.purger.wake()
    return False


def write_mark(
    driver: protocols.Driver, ioctx: Any, name: str, mark: trash_mark.Mark
) -> str:
    """Mark an image as one that the driver removes, and return its id.

    :raises ImageNotFound: if the image does not exist
    """
    image_id = ownership.id_of(ioctx, name)
    try:
        if image_id is None:
            raise driver.rados.ObjectNotFound(name)
        size = trash_mark.size_of(ioctx, image_id)
        mark = dataclasses.replace(mark, size=size, at=time.time())
        trash_mark.write(ioctx, image_id, mark)
    except driver.rados.ObjectNotFound as error:
        raise driver.rbd.ImageNotFound(f'{name} does not exist') from error
    return image_id


def mark_of(
    driver: protocols.Driver, ioctx: Any, name: str
) -> trash_mark.Mark | None:
    """Return the valid mark of the image of a name, or None."""

    image_id = releases.off_main_thread(ownership.id_of)(ioctx, name)
    if image_id is None:
        return None
    read = releases.off_main_thread(trash_mark.read)
    mark: trash_mark.Mark | None = read(driver.rados, ioctx, image_id)[0]
    return mark


def trash_of(librbd: Any, ioctx: bindings.Ioctx) -> list[dict[str, Any]]:
    """Return the images in the trash of a pool, as far as librbd lists them.

    The Python binding of Ceph 16 stops with ``IndexError`` at the source of a
    migration.
    """
    listed = []
    try:
        for entry in librbd.RBD().trash_list(ioctx):
            if entry['source'] != _MIGRATION:
                listed.append(entry)
    except IndexError:
        LOG.warning(
            'Could not read the whole trash of pool %s, because an image of '
            'the pool is being converted or migrated',
            ioctx.get_pool_name(),
        )
    return listed


class Marks:
    """The marks of the images in the trash of a pool, each read once."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._known: dict[
            tuple[str, datetime.datetime], trash_mark.Mark | None
        ] = {}

    def entries(
        self, ioctx: bindings.Ioctx, name: str | None = None
    ) -> list[Entry]:
        """Return the entries of the trash that the driver has made.

        :param name: of the images; None for all
        """
        known, made = {}, []
        for item in trash_of(self._driver.rbd, ioctx):
            if name not in (None, item['name']):
                continue
            key = item['id'], item['deletion_time']
            mark = self._known.get(key)
            if key not in self._known:
                mark = self._read(ioctx, item)
            known[key] = mark
            if mark:
                until = item['deferment_end_time']
                made.append(Entry(item['id'], item['name'], until, mark))
        self._known = known
        return made

    def _read(
        self, ioctx: bindings.Ioctx, item: dict[str, Any]
    ) -> trash_mark.Mark | None:
        rados = self._driver.rados
        mark, _ = trash_mark.read(rados, ioctx, item['id'])
        if mark:
            return mark if mark.is_of_move(item['deletion_time']) else None
        try:
            trash_mark.size_of(ioctx, item['id'])
        except rados.ObjectNotFound:
            name = item['name'].removesuffix(image_handles.DELETED_SOURCE)
            volume_id = volume_utils.extract_id_from_volume_name(name)
            return trash_mark.Mark(trash_mark.REMAINDER, '', volume_id or '')
        return None


def keep(
    driver: protocols.Driver,
    ioctx: Any,
    name: str,
    volume_id: str,
    delay: int,
) -> None:
    """Move the former image of a volume to the trash, for its time there.

    This can be repeated: an image that was moved has no name.
    """
    if ownership.id_of(ioctx, name) is not None:
        move(driver, ioctx, name, _mark(trash_mark.KEPT, volume_id), delay)


def discard(
    driver: protocols.Driver, ioctx: Any, name: str, volume_id: str
) -> None:
    """Remove a copy, complete or not, that is not the image of a volume.

    This can be repeated. If a client has it open, it stays in the trash, and
    the purger of the pool removes it.
    """
    mark = _mark(trash_mark.COPY, volume_id)
    if ownership.id_of(ioctx, name) is not None:
        try:
            move(driver, ioctx, name, mark)
        except driver.rbd.ImageNotFound:
            # Its creation or removal was interrupted: it has no header.
            driver.librbd.discard(ioctx, name)
    for entry in Marks(driver).entries(ioctx, name):
        if entry.mark.kind == mark.kind:
            try:
                remove(driver, ioctx, entry)
            except driver.rbd.ImageBusy:
                LOG.info('%s is open; removing it later', name)


def kept_of(driver: protocols.Driver, volume_id: str) -> list[Entry]:
    """Return the former images of a volume in the trash of the back end."""
    kept = trash_mark.KEPT, volume_id
    return [
        entry
        for entry in in_pool(driver, Marks(driver).entries)
        if (entry.mark.kind, entry.mark.volume) == kept
    ]


def remove(
    driver: protocols.Driver,
    ioctx: bindings.Ioctx,
    entry: Entry,
    is_early: bool = False,
    on_progress: Callable[[int, int], int] | None = None,
) -> None:
    """Remove an image, and its snapshots if they go with it.

    The image is removed only while it is in the trash: somebody may restore
    it. A kill leaves it there, with less data, and this can be repeated.

    :param is_early: whether it is removed before the end of its delay
    :raises ImageBusy: if a client has it open, or a snapshot has clones
    :raises ImageHasSnapshots: if snapshots stay
    """
    librbd = driver.rbd
    try:
        librbd.RBD().trash_get(ioctx, entry.image_id)
    except librbd.ImageNotFound:
        LOG.info('%s is no longer in the trash', entry.name)
        return
    try:
        with librbd.Image(ioctx, image_id=entry.image_id) as image:
            for name in _removable(image, entry.mark.kind):
                librbd.RBD().trash_get(ioctx, entry.image_id)
                image_handles.remove_snapshot(image, name)
            if not list(image.list_snaps()):
                image_handles.rebuild_map(image)
    except librbd.ImageNotFound:
        LOG.debug('The removal of %s was interrupted', entry.name)
    except librbd.Timeout as error:
        # librbd tells the clients of an image about it, also a killed one that
        # the OSDs have not forgotten.
        raise librbd.ImageBusy(f'{entry.name} is open') from error
    remove_entry = functools.partial(
        librbd.RBD().trash_remove,
        *(ioctx, entry.image_id, is_early, on_progress),
    )
    try:
        remove_entry()
    except librbd.OSError as error:
        is_half_moved = error.errno == errno.EUCLEAN
        # librbd would move an image that has got the name since.
        if not is_half_moved or ownership.id_of(ioctx, entry.name):
            raise
        # Its move was interrupted when the name was gone. librbd finds it by
        # that name, and the mark must be valid after a kill.
        mark = dataclasses.replace(entry.mark, at=time.time())
        trash_mark.write(ioctx, entry.image_id, mark)
        librbd.RBD().trash_move(ioctx, entry.name, 0)
        remove_entry()


def in_pool(
    driver: protocols.Driver, function: Callable[..., _Result], *pools: str
) -> _Result:
    """Run a function of the contexts of pools, which may block.

    :param pools: by default, that of the back end
    """
    with contextlib.ExitStack() as stack:
        contexts = [
            stack.enter_context(rbd.RADOSClient(driver, pool)).ioctx
            for pool in pools or (None,)
        ]
        call = functools.partial(function, *contexts)
        result: _Result = releases.off_main_thread(call)()
        return result


def _removable(image: bindings.Image, kind: str) -> list[str]:
    """Return the names of the snapshots that are removed with an image.

    The copy that has replaced an image has all its snapshots, and a copy has
    those of the image. Other snapshots of a deleted volume's image are not
    Cinder's, except those for clones.
    """
    return [
        name
        for name in image_handles.snapshot_names(image)
        if kind != trash_mark.DELETED
        or name.endswith(image_handles.CLONE_SNAPSHOT)
    ]


def _mark(kind: str, volume_id: str) -> trash_mark.Mark:
    admin = context.get_admin_context(read_deleted='yes')
    volume = objects.Volume.get_by_id(admin, volume_id)
    return trash_mark.Mark(kind, volume.project_id, volume_id)
