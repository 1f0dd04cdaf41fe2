# SPDX-License-Identifier: Apache-2.0

"""Locks of the RBD images of volumes, in the Ceph cluster.

An operation that uses the image of a volume holds the image's lock shared, one
that replaces or removes it exclusively. The lock is an advisory lock of RADOS
on the header of the image (:mod:`cinder_rbd_ext.cluster.advisory_locks`), so
it applies to all services that use the pool, and needs no other program.

Under the lock, the volume is read again from the database, since an object
that came in a request is older. An operation that waited while another image
became that of the volume locks that one instead.

===================  =======================================================
A holder             What happens
===================  =======================================================
is killed            Its lock ends after
                     :data:`.advisory_locks.DURATION` seconds at most.
is stopped for       Its lock has ended, and others may have replaced the
longer than that     image. Before it returns, a shared holder takes the lock
                     again, and raises :class:`LockLost` if the volume has
                     changed; :func:`until_held` repeats it then. Before each
                     step that cannot be undone, an exclusive one calls
                     :meth:`Held.check`.
removes the image    The lock ends with the image's header. It is not created
                     again: the request to lock fails if there is none.
loses its            Its lock cannot be renewed, and ends as above.
connection
===================  =======================================================

Nothing is locked if a volume has no image. An operation that needs the image
then fails because of that. Two creations, or two removals, of one image are
kept apart by the status of the volume, which Cinder's API changes only once,
and by librbd, which creates a name once and completes a removal that was
begun. Locks of images of other pools, such as those of Glance images, are not
taken: the Ceph user may have no right to write there.

The lock is re-entrant in the same thread or greenlet, but an operation that
holds it shared cannot take it exclusively. Threads that a holder starts do not
hold it.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
import errno
import os
import time
import types
from typing import Any
from typing import TypeVar

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_config import cfg
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import advisory_locks
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.i18n import _
from rbd_volume_options import bindings
from rbd_volume_options import ownership

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

#: Seconds to wait for a lock, unless the caller sets another time.
WAIT = 60.0

# The shortest and the longest time in seconds between two attempts.
_PAUSE, _LONGEST_PAUSE = 0.02, 0.5

# The names of the locks of images, and of names.
_IMAGE = 'cinder_rbd_ext'
_NAME = f'{_IMAGE}.name.'

# What an OSD accepts as the name of an attribute, without `lock.`. The end of
# a longer name of an image has the UUID of the volume.
_LONGEST_NAME = 95 - len(_NAME)

# The object with the locks of names, which each pool with images has.
_DIRECTORY = 'rbd_directory'

# A volume can get another image again while its lock is waited for, and a
# service can be stopped again.
_ATTEMPTS = 10

# Status of a volume whose data an exclusive holder replaces. Cinder changes it
# after the lock is released.
_REVERTING = 'reverting'

# There is no such image.
_MISSING = (errno.ENOENT, errno.ECANCELED)

_Result = TypeVar('_Result')
_Kind = advisory_locks.Kind
_SHARED, _EXCLUSIVE = _Kind.SHARED, _Kind.EXCLUSIVE

# The locks that the current thread or greenlet holds, by pool, object and
# name.
_mine: contextvars.ContextVar[
    Mapping[tuple[str, str, str], advisory_locks.Lock]
] = contextvars.ContextVar('_mine', default=types.MappingProxyType({}))


class VolumeLocked(exception.VolumeIsBusy):
    """The lock of a volume could not be taken in time.

    Cinder then sets a volume that is being deleted to ``available``.
    """

    message = _(
        'Another operation is using or changing the RBD image of volume '
        '%(volume_id)s. Try again when it has completed.'
    )


class LockUnavailable(VolumeLocked):
    """The Ceph cluster does not provide the lock of a volume."""

    message = _(
        'Volume %(volume_id)s cannot be locked, because the Ceph cluster does '
        'not respond or refuses it. Try again later.'
    )


class LockLost(exception.VolumeBackendAPIException):
    """The lock of a volume ended while it was held."""

    message = _(
        'The lock of volume %(volume_id)s has ended before the operation, '
        'because this service was stopped or lost its connection to Ceph, and '
        'another operation may have changed the volume.'
    )


class Held:
    """The locks that an operation holds on the images of a volume.

    :ivar volume: the volume, as read under the lock
    :ivar image_id: librbd's id of its image; empty if there is none
    :ivar is_lost: whether a lock had ended before it was released
    """

    def __init__(
        self, driver: protocols.Driver, volume_id: str, until: float
    ) -> None:
        self.volume: Any = None
        self.image_id = ''
        self.is_lost = False
        self._driver = driver
        self._volume_id, self._until = volume_id, until
        self._locks: list[advisory_locks.Lock] = []
        #: What ends with the locks.
        self.stack = contextlib.ExitStack()

    def check(self) -> None:
        """Raise ``LockLost`` if a lock has ended since it was taken."""
        if not all(lock.is_held() for lock in self._locks):
            raise LockLost(volume_id=self._volume_id)

    def add(self, image_id: str, pool: str | None = None) -> None:
        """Lock another image of the volume as well, such as a new copy.

        :param pool: of the image; None for that of the back end
        :raises VolumeLocked: if another operation has it locked
        :raises LockLost: if it does not exist
        """
        client = self.stack.enter_context(rbd.RADOSClient(self._driver, pool))
        header = advisory_locks.HEADER + image_id
        if not self.take(client.ioctx, header, _IMAGE, _EXCLUSIVE):
            raise LockLost(volume_id=self._volume_id)

    def take(
        self, ioctx: bindings.Ioctx, key: str, name: str, kind: _Kind
    ) -> bool:
        """Take a lock on an object; return False if there is no such image."""
        place = ioctx.get_pool_name(), key, name
        lock = _mine.get().get(place)
        if lock is None:
            lock = advisory_locks.Lock(
                self._driver.rados, ioctx, key, name, kind
            )
            self.stack.callback(self._release, lock)
            if not self._is_taken(lock):
                return False
            token = _mine.set({**_mine.get(), place: lock})
            self.stack.callback(_mine.reset, token)
        elif kind is _EXCLUSIVE and lock.kind is _SHARED:
            raise RuntimeError(f'{place} is locked shared')
        self._locks.append(lock)
        return True

    def _is_taken(self, lock: advisory_locks.Lock) -> bool:
        pause = _PAUSE
        while number := lock.take():
            if number in _MISSING:
                return False
            if number != errno.EBUSY:
                raise LockUnavailable(volume_id=self._volume_id) from OSError(
                    number, os.strerror(number)
                )
            left = self._until - time.monotonic()
            if left <= 0:
                raise VolumeLocked(volume_id=self._volume_id)
            time.sleep(min(left, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _release(self, lock: advisory_locks.Lock) -> None:
        try:
            self.is_lost |= not lock.release()
        except self._driver.rados.Error as error:
            LOG.warning('Could not release a lock: %s', error)
            self.is_lost = True


def until_held(
    operation: Callable[[], _Result], undo: Callable[[], object] | None = None
) -> _Result:
    """Repeat an operation until its lock has lasted, and return its result.

    What it has done was perhaps done to an image that is no longer the
    volume's.

    :param undo: undoes it; called after each attempt whose lock ended
    :raises LockLost: after too many attempts
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return operation()
        except LockLost:
            LOG.warning('A lock has ended early, attempt %d', attempt)
            if undo:
                undo()
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError


@contextlib.contextmanager
def shared(
    driver: protocols.Driver, volume: protocols.Volume, wait: float = WAIT
) -> Iterator[Any]:
    """Hold the lock of a volume together with other users of its image.

    :returns: the volume as in the database, with the elevated context of the
        given one
    :raises VolumeLocked: if it could not be taken in ``wait`` seconds
    :raises LockLost: if the lock has ended before the operation, and the
        volume has changed since
    """
    with shared_by_id(
        driver, volume.id, volume._context, wait, volume.name
    ) as current:
        yield current


@contextlib.contextmanager
def shared_by_id(
    driver: protocols.Driver,
    volume_id: str,
    request_context: protocols.Context,
    wait: float = WAIT,
    name: str | None = None,
) -> Iterator[Any]:
    """Act as :func:`shared` for a volume that was not read yet."""
    name = name or CONF.volume_name_template % volume_id
    held = None
    try:
        with _of_volume(
            driver, volume_id, name, _SHARED, wait, request_context
        ) as held:
            yield held.volume
    except Exception as error:
        # An image that was replaced is in the trash, without its name.
        is_gone = errno.ENOENT in blocklisting.numbers(error)
        if is_gone and held and held.is_lost:
            _check_unchanged(driver, held, wait)
        raise
    if held.is_lost:
        _check_unchanged(driver, held, wait)


@contextlib.contextmanager
def exclusive(
    driver: protocols.Driver, volume: protocols.Volume, wait: float = WAIT
) -> Iterator[Held]:
    """Hold the lock of a volume alone; ``wait`` is in seconds.

    :raises VolumeLocked: if it could not be taken
    :raises RuntimeError: if the same thread holds it shared
    """
    with _of_volume(
        *(driver, volume.id, volume.name, _EXCLUSIVE, wait), volume._context
    ) as held:
        yield held


@contextlib.contextmanager
def image(
    driver: protocols.Driver, image_name: str, wait: float = WAIT
) -> Iterator[None]:
    """Hold the lock of an image of the back end's pool, shared.

    Nothing is locked if there is none with the name.
    """
    held = Held(driver, image_name, time.monotonic() + wait)
    with rbd.RADOSClient(driver) as client, held.stack:
        if image_id := _id_of(client.ioctx, image_name):
            header = advisory_locks.HEADER + image_id
            held.take(client.ioctx, header, _IMAGE, _SHARED)
        yield


@contextlib.contextmanager
def name(
    driver: protocols.Driver, text: str, wait: float = WAIT
) -> Iterator[None]:
    """Give an image a name, or remove the one that has it, alone.

    No image may have the name at some time in between. It keeps a name from
    getting another image while the removal of the former one is completed.
    """
    held = Held(driver, text, time.monotonic() + wait)
    with rbd.RADOSClient(driver) as client, held.stack:
        lock = _NAME + text[-_LONGEST_NAME:]
        held.take(client.ioctx, _DIRECTORY, lock, _EXCLUSIVE)
        yield


def configuring(
    driver: protocols.Driver, volume: protocols.Volume, wait: float = WAIT
) -> contextlib.AbstractContextManager[None]:
    """Change the configuration of an image alone, while others use its data.

    :param volume: as read under the shared lock
    """
    return name(driver, f'{volume.name}.configuration', wait)


@contextlib.contextmanager
def _of_volume(
    driver: protocols.Driver,
    volume_id: str,
    image_name: str,
    kind: _Kind,
    wait: float,
    request_context: protocols.Context | None = None,
) -> Iterator[Held]:
    until = time.monotonic() + wait
    with rbd.RADOSClient(driver) as client:
        ioctx = client.ioctx
        image_id = _id_of(ioctx, image_name)
        for _attempt in range(_ATTEMPTS):
            held = Held(driver, volume_id, until)
            with held.stack:
                is_there = bool(image_id) and held.take(
                    ioctx, advisory_locks.HEADER + image_id, _IMAGE, kind
                )
                held.volume = record.stored_volume(volume_id)
                if request_context:
                    # A tenant may no longer see the type of the volume.
                    held.volume._context = request_context.elevated()
                current_id = _id_of(ioctx, held.volume.name)
                if current_id == image_id:
                    # Without its header, an image cannot be opened either.
                    held.image_id = image_id if is_there else ''
                    yield held
                    return
            image_id = current_id
    raise VolumeLocked(volume_id=volume_id)


def _id_of(ioctx: bindings.Ioctx, image_name: str) -> str:
    """Return the id of the image with a name; empty if there is none.

    An OSD that does not respond blocks this thread, but not eventlet's.
    """
    return releases.off_main_thread(ownership.id_of)(ioctx, image_name) or ''


def _check_unchanged(
    driver: protocols.Driver, held: Held, wait: float
) -> None:
    """Check a volume after an operation whose lock has ended before it.

    An exclusive holder replaces the image, or changes the status of the volume
    before it changes the data.

    :raises LockLost: if the volume has changed since the lock was taken
    """
    volume = held.volume
    LOG.warning('The lock of volume %s has ended early', volume.id)
    try:
        with _of_volume(
            driver, volume.id, volume.name, _SHARED, wait
        ) as current:
            is_same = (
                held.image_id == current.image_id
                and volume.updated_at == current.volume.updated_at
                and current.volume.status != _REVERTING
            )
    except exception.CinderException as error:
        raise LockLost(volume_id=volume.id) from error
    if not is_same:
        raise LockLost(volume_id=volume.id)
