# SPDX-License-Identifier: Apache-2.0

"""One lock for each volume, in all cinder-volume services of a cluster.

An operation that uses the RBD image of a volume holds the lock shared, one
that replaces or removes it exclusively. Inside the lock, the volume must be
read again from the database: an object that came in a request is older.

Cinder's coordination back end provides the locks (``[coordination]
backend_url``). Few of its drivers have shared locks, so a lock consists of
ordinary ones: a gate and :data:`PLACES` places. An exclusive holder takes the
gate, which only exclusive holders take, and then all places. A shared holder
takes one place. All shared operations of a process use the same place: the
first one takes it and the last one returns it, so 64 clones of a volume cost
as much as one. An operation joins a place that is held for longer than
:data:`JOIN_FOR` only if the gate is free, so an exclusive holder waits at most
for that time and for the operations that are running.

A killed process: the kernel releases its locks of the file driver, and those
of etcd expire after ``lock_timeout`` (30 seconds by default). A process that
loses its connection to etcd for that time loses its locks while it runs; an
exclusive holder calls :meth:`Held.check_is_held` before a step that cannot be
undone.

The lock is re-entrant in the same thread or greenlet, but an operation that
holds it shared cannot take it exclusively. Threads that a holder starts do not
hold it.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
import dataclasses
import functools
import random
import threading
import time
import types
from typing import Any

from cinder import coordination
from cinder import exception
from oslo_config import cfg
from oslo_log import log as logging
import tooz

from cinder_rbd_ext.i18n import _

LOG = logging.getLogger(__name__)

#: Number of processes that can hold a lock shared at the same time. Others
#: wait for them.
PLACES = 4

#: Seconds in which operations join others that hold the lock shared, without
#: a look at the gate.
JOIN_FOR = 2.0

#: Seconds to wait for a lock, unless the caller sets another time.
WAIT = 60.0

#: Seconds for which a coordination back end that does not respond is tried
#: again, such as etcd while it elects a leader.
PATIENCE = 20.0

# The shortest and the longest time in seconds between two attempts.
_PAUSE = 0.02
_LONGEST_PAUSE = 0.5

# Seconds between two attempts to release a lock.
_RELEASE_PAUSE = 5.0

# The URL of the driver that has its locks in files.
_LOCAL = 'file:'

_GATE = 'gate'


class VolumeLocked(exception.VolumeIsBusy):
    """The lock of a volume could not be taken in time.

    Cinder then sets a volume that is being deleted to ``available``.
    """

    message = _(
        'Another operation is using or changing the RBD image of volume '
        '%(volume_id)s. Try again when it has completed.'
    )


class LockUnavailable(VolumeLocked):
    """The coordination back end does not provide the lock of a volume."""

    message = _(
        'Volume %(volume_id)s cannot be locked, because the coordination back '
        'end of Cinder does not respond. Try again later.'
    )


class LockLost(exception.VolumeBackendAPIException):
    """The lock of a volume expired while it was held."""

    message = _(
        'The lock of volume %(volume_id)s expired, because the coordination '
        'back end of Cinder did not respond.'
    )


@dataclasses.dataclass(eq=False)
class _Sharing:
    """The operations of this process that hold a lock shared.

    :ivar since: when the first one took it, or when the gate was last free;
        None while one takes the place or looks at the gate
    :ivar place: the place that it took
    """

    holders: int = 1
    since: float | None = None
    place: str = ''

    @property
    def is_open(self) -> bool:
        """Whether more operations may join."""
        return self.since is not None and (
            time.monotonic() - self.since < JOIN_FOR
        )


class _Process:
    """The locks of this process.

    The file driver would release a lock if another object for the same file
    was closed, so each lock is used by one thread at a time.

    :ivar changed: guards both dictionaries; notified of each change
    :ivar taken: locks by name; None while an attempt to take one is made
    :ivar sharing: the operations that others may join, by volume
    :ivar first_place: the place to try first, another one in each process
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.taken: dict[str, Any] = {}
        self.sharing: dict[str, _Sharing] = {}
        self.first_place = random.randrange(PLACES)  # noqa: S311


@functools.cache
def _process() -> _Process:
    """Return the locks of this process, created at the first use.

    Before, eventlet may still replace the classes of ``threading``, and a
    service forks its processes.
    """
    return _Process()


class Held:
    def __init__(self, volume_id: str, names: list[str]) -> None:
        self._volume_id = volume_id
        self._names = names

    def check_is_held(self) -> None:
        """Raise ``LockLost`` if the lock may have expired."""
        process = _process()
        with process.changed:
            locks = [process.taken.get(name) for name in self._names]
        for lock in locks:
            try:
                is_held = lock is not None and _is_owner(lock)
            except tooz.ToozError as error:
                raise LockLost(volume_id=self._volume_id) from error
            if not is_held:
                raise LockLost(volume_id=self._volume_id)


# The locks that the current thread or greenlet holds, and whether exclusively.
_mine: contextvars.ContextVar[Mapping[str, bool]] = contextvars.ContextVar(
    '_mine', default=types.MappingProxyType({})
)


@contextlib.contextmanager
def shared(volume_id: str, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of a volume together with other shared holders.

    :raises VolumeLocked: if it could not be taken in ``wait`` seconds
    """
    if volume_id in _mine.get():
        yield
        return
    sharing = _join(volume_id, _Deadline(volume_id, wait))
    try:
        with _marked(volume_id, exclusive=False):
            yield
    finally:
        _leave(volume_id, sharing)


@contextlib.contextmanager
def exclusive(volume_id: str, wait: float = WAIT) -> Iterator[Held]:
    """Hold the lock of a volume alone; ``wait`` is in seconds.

    :raises VolumeLocked: if it could not be taken
    :raises RuntimeError: if the same thread holds it shared
    """
    names = [_name(volume_id, _GATE), *_places(volume_id)]
    mine = _mine.get().get(volume_id)
    if mine is not None:
        if not mine:
            raise RuntimeError(f'{volume_id} is locked shared')
        yield Held(volume_id, names)
        return
    with contextlib.ExitStack() as stack:
        deadline = _Deadline(volume_id, wait)
        _take_all(names[:1], stack, deadline)
        _take_all(names[1:], stack, deadline)
        stack.enter_context(_marked(volume_id, exclusive=True))
        yield Held(volume_id, names)


@contextlib.contextmanager
def _part(part: str, volume_id: str, wait: float = WAIT) -> Iterator[None]:
    """Hold a lock of its own for a part of a volume. It is not re-entrant.

    :raises VolumeLocked: if it could not be taken in ``wait`` seconds
    """
    with contextlib.ExitStack() as stack:
        deadline = _Deadline(volume_id, wait)
        _take_all([_name(volume_id, part)], stack, deadline)
        yield


#: Changes the configuration of the image of a volume alone, for a holder of
#: the shared lock: the data can be used meanwhile.
configuring = functools.partial(_part, 'configuration')

#: Gives an image the name of a volume, or deletes a former one, alone. The
#: volume can be used while its former image on another back end is deleted,
#: which can take hours.
naming = functools.partial(_part, 'name')


def warn_if_local(cluster_name: str | None) -> None:
    """Log a warning if the services of a cluster do not share their locks."""
    if cluster_name and cfg.CONF.coordination.backend_url.startswith(_LOCAL):
        LOG.warning(
            'The back end belongs to cluster %s, but [coordination] '
            'backend_url is file://, whose locks apply to one host only. '
            'Services on different hosts may change the RBD image of a volume '
            'at the same time, which can lose data. Set backend_url to a '
            'coordination back end that all hosts share, such as etcd3.',
            cluster_name,
        )


def clean(volume_id: str) -> None:
    """Remove the lock files of a volume that is deleted."""
    coordination.synchronized_remove(_name(volume_id, '*'))


class _Deadline:
    """The time that is left to take a lock."""

    def __init__(self, volume_id: str, wait: float) -> None:
        self._volume_id = volume_id
        self._until = time.monotonic() + wait
        self._pause = _PAUSE
        self._silent_since: float | None = None

    def wait(self) -> None:
        """Wait for a change in this process, or a while for others.

        :raises VolumeLocked: if no time is left
        """
        left = self._until - time.monotonic()
        if left <= 0:
            is_silent = self._silent_since is not None
            kind = LockUnavailable if is_silent else VolumeLocked
            raise kind(volume_id=self._volume_id)
        _process().changed.wait(min(left, self._pause))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def take(self, name: str) -> bool:
        """Take a lock if it is free, and the back end responds.

        :raises LockUnavailable: if it has not responded for too long
        """
        try:
            is_taken = _take(name)
        except (tooz.ToozError, exception.LockCreationFailed) as error:
            now = time.monotonic()
            if self._silent_since is None:
                self._silent_since = now
            if now >= min(self._until, self._silent_since + PATIENCE):
                LOG.exception('Could not lock volume %s', self._volume_id)
                raise LockUnavailable(volume_id=self._volume_id) from error
            return False
        self._silent_since = None
        return is_taken


@contextlib.contextmanager
def _marked(volume_id: str, exclusive: bool) -> Iterator[None]:
    token = _mine.set({**_mine.get(), volume_id: exclusive})
    try:
        yield
    finally:
        _mine.reset(token)


def _name(volume_id: str, part: str) -> str:
    return f'rbd-volume-{volume_id}-{part}'


def _places(volume_id: str) -> list[str]:
    first = _process().first_place
    return [
        _name(volume_id, str((first + number) % PLACES))
        for number in range(PLACES)
    ]


def _join(volume_id: str, deadline: _Deadline) -> _Sharing:
    """Join the operations that hold a lock shared, or take a place.

    Operations can hold it for hours. If each later one took another place,
    few of them could run at the same time.
    """
    process = _process()
    with process.changed:
        while (
            sharing := process.sharing.get(volume_id)
        ) and sharing.since is None:
            deadline.wait()
        if sharing is None:
            sharing = process.sharing[volume_id] = _Sharing()
        else:
            sharing.holders += 1
            if sharing.is_open:
                return sharing
            sharing.since = None
    is_open = False
    try:
        if sharing.place:
            is_open = _is_gate_free(volume_id, deadline)
        else:
            sharing.place = _take_any(_places(volume_id), deadline)
            is_open = True
    finally:
        if not is_open:
            _close(volume_id, sharing)
            if sharing.place:
                _leave(volume_id, sharing)
    if not is_open:
        return _join(volume_id, deadline)
    with process.changed:
        sharing.since = time.monotonic()
        process.changed.notify_all()
    return sharing


def _is_gate_free(volume_id: str, deadline: _Deadline) -> bool:
    """Return whether no exclusive holder waits for the shared ones."""
    gate = _name(volume_id, _GATE)
    if not deadline.take(gate):
        return False
    _release(gate)
    return True


def _leave(volume_id: str, sharing: _Sharing) -> None:
    with _process().changed:
        sharing.holders -= 1
        if sharing.holders:
            return
        _close(volume_id, sharing)
    _release(sharing.place)


def _close(volume_id: str, sharing: _Sharing) -> None:
    """Let no more operations join."""
    process = _process()
    with process.changed:
        # Another one may have replaced it already.
        if process.sharing.get(volume_id) is sharing:
            del process.sharing[volume_id]
        process.changed.notify_all()


def _take_any(names: list[str], deadline: _Deadline) -> str:
    while True:
        for name in names:
            if deadline.take(name):
                return name
        with _process().changed:
            deadline.wait()


def _take_all(
    names: list[str], stack: contextlib.ExitStack, deadline: _Deadline
) -> None:
    missing = names
    while True:
        for name in missing:
            if deadline.take(name):
                stack.callback(_release, name)
                missing = [other for other in missing if other != name]
        if not missing:
            return
        with _process().changed:
            deadline.wait()


def _take(name: str) -> bool:
    """Take a lock of the coordination back end if it is free."""
    process = _process()
    with process.changed:
        if name in process.taken:
            return False
        process.taken[name] = None
    lock = None
    try:
        lock = coordination.COORDINATOR.get_lock(name)
        if not lock.acquire(blocking=False):
            # This closes the file before another thread opens it.
            lock = None
    except BaseException:
        lock = None
        raise
    finally:
        with process.changed:
            if lock is None:
                del process.taken[name]
                process.changed.notify_all()
            else:
                process.taken[name] = lock
    return lock is not None


def _release(name: str) -> None:
    """Release a lock, repeatedly: heartbeats would otherwise keep it."""
    if not _released(name):
        threading.Thread(
            target=_release_later, args=(name,), daemon=True
        ).start()


def _release_later(name: str) -> None:
    while True:
        time.sleep(_RELEASE_PAUSE)
        if _released(name):
            return


def _released(name: str) -> bool:
    process = _process()
    try:
        process.taken[name].release()
    except Exception:
        LOG.exception('Could not release lock %s', name)
        return False
    with process.changed:
        del process.taken[name]
        process.changed.notify_all()
    return True


def _is_owner(lock: Any) -> bool:
    try:
        return bool(lock.is_still_owner())
    except tooz.NotImplemented:
        # The driver of etcd has no such query.
        lease = getattr(lock, '_lease', None)
        return lease is None or int(lease.ttl()) > 0
