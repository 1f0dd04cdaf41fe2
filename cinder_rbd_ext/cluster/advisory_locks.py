# SPDX-License-Identifier: Apache-2.0

"""Advisory locks of RADOS: kept with an object, by a connection, for a time.

The OSD keeps a lock in an attribute of the object, so all clients of the pool
see it (``rados lock info``), and it disappears with the object. The holder is
a connection and a cookie: only that connection renews and releases it. A lock
that is not renewed ends after :data:`DURATION`, to which the clocks of the
OSDs add up to a second. A process that is killed, or stopped for so long,
loses its locks then, and a renewal does not take them again.

A native thread renews the locks of the process, because the main thread of
eventlet may be busy for seconds. It only sends requests. What became of a lock
is known when it is checked or released, which fail if it was lost meanwhile.
"""

import enum
import errno
import functools
import os
import struct
import time
from typing import Any
import uuid

from cinder_rbd_ext import releases
from rbd_volume_options import bindings
from rbd_volume_options import ownership

#: Seconds that a lock lasts after it was last renewed. While an OSD fails over
#: to another, which takes about 25 seconds, a lock cannot be renewed.
DURATION = 30

#: Seconds between two renewals.
INTERVAL = 5.0

#: Seconds to wait for an OSD.
PATIENCE = 30.0

# The shortest and the longest time between two checks of an operation: an idle
# OSD responds within a millisecond.
_SHORTEST, _LONGEST = 0.0002, 0.02

#: The headers of images begin with it, and have the key. A comparison fails if
#: the object does not exist; a lock alone would create it.
HEADER = 'rbd_header.'
_HEADER_KEY = 'size'
_GREATER = 3

# Of the object class: renew a lock only if it has not been lost.
_MUST_RENEW = 2


class Kind(enum.IntEnum):
    """The types of locks, with the numbers of the object class."""

    EXCLUSIVE = 1
    SHARED = 2


class Lock:
    """A lock on an object, which the process can hold.

    :param place: the object; if it is the header of an image, it must exist
    """

    def __init__(
        self,
        rados: Any,
        ioctx: bindings.Ioctx,
        place: str,
        name: str,
        kind: Kind,
    ) -> None:
        self._rados, self._ioctx = rados, ioctx
        self._object, self._name, self.kind = place, name, kind
        self._cookie = str(uuid.uuid4())
        self._is_taken = False
        self._renewal: Any = None
        # Two threads that are the first ones may get different objects.
        self._process = _process()

    def take(self) -> int:
        """Take the lock; return 0 or an error number.

        ``EBUSY`` if another one holds it, ``ENOENT`` or ``ECANCELED`` if there
        is no such header, ``ETIMEDOUT`` if the OSD does not respond. After any
        number, nothing is held.
        """
        number = self._wait(self._request())
        if number in (0, errno.EEXIST):
            self._is_taken = True
            self._process.add(self)
            return 0
        if number not in (errno.EBUSY, errno.ENOENT, errno.ECANCELED):
            # It may be carried out later: after it, not before.
            self._request_release()
        return number

    def is_held(self) -> bool:
        """Renew the lock; return False if it was lost at any time.

        A step that follows has the whole duration, also after a pause.
        """
        return self._wait(self._request(_MUST_RENEW)) == 0

    def release(self) -> bool:
        """Release the lock; return False if it was lost at any time.

        This must be called before the connection is closed. It does nothing if
        the lock was not taken. The answer is that of a read, which is faster:
        the OSD runs the operations of a client on an object in their order.
        """
        if not self._is_taken:
            return True
        self._is_taken = False
        self._process.remove(self)
        state = self._request_state()
        self._request_release()
        return self._wait(state) == 0

    def renew(self) -> None:
        """Request that the lock lasts longer, and do not wait for that."""
        if self._renewal is None or self._renewal.is_complete():
            self._renewal = self._request(_MUST_RENEW)

    def _request(self, flags: int = 0) -> Any:
        fields = (
            self._encoded_name(),
            bytes([self.kind]),
            ownership.encoded(self._cookie),
            # Shared locks have the same tag.
            ownership.encoded(''),
            ownership.encoded(f'{os.uname().nodename} {os.getpid()}'),
            struct.pack('<II', DURATION, 0),
            bytes([flags]),
        )
        with self._rados.WriteOpCtx() as operation:
            if self._object.startswith(HEADER):
                operation.omap_cmp(_HEADER_KEY, '', _GREATER)
            operation.execute('lock', 'lock', _versioned(*fields))
            return self._ioctx.operate_aio_write_op(operation, self._object)

    def _request_state(self) -> Any:
        fields = (
            self._encoded_name(),
            bytes([self.kind]),
            ownership.encoded(self._cookie),
            ownership.encoded(''),
        )
        return self._ioctx.aio_execute(
            self._object, 'lock', 'assert_locked', _versioned(*fields)
        )

    def _request_release(self) -> Any:
        cookie = ownership.encoded(self._cookie)
        with self._rados.WriteOpCtx() as operation:
            operation.execute(
                'lock', 'unlock', _versioned(self._encoded_name(), cookie)
            )
            if self.kind is Kind.EXCLUSIVE:
                # Nobody else holds it. The object class keeps an empty lock.
                operation.rm_xattr(f'lock.{self._name}')
            return self._ioctx.operate_aio_write_op(operation, self._object)

    def _encoded_name(self) -> bytes:
        return ownership.encoded(self._name)

    def _wait(self, completion: Any) -> int:
        """Return the error number of an operation."""
        began = time.monotonic()
        while not completion.is_complete():
            spent = time.monotonic() - began
            if spent > PATIENCE:
                return errno.ETIMEDOUT
            time.sleep(min(_LONGEST, max(_SHORTEST, spent / 8)))
        return -int(completion.get_return_value())


class _Process:
    """The locks that this process holds, and the thread that renews them."""

    def __init__(self) -> None:
        self._forget()
        releases.after_fork(self._forget)

    def _forget(self) -> None:
        # It is held briefly, and never while waiting for an OSD.
        self._guard = releases.native_lock()
        self._held: set[Lock] = set()
        self._is_renewing = False

    def add(self, lock: Lock) -> None:
        with self._guard:
            self._held.add(lock)
            if not self._is_renewing:
                self._is_renewing = True
                releases.in_thread(self._renew)

    def remove(self, lock: Lock) -> None:
        """Renew a lock no longer: its context may be closed now."""
        with self._guard:
            self._held.discard(lock)

    def _renew(self) -> None:
        # It must not write to the log, whose locks are those of eventlet.
        while True:
            releases.native_sleep(INTERVAL)
            with self._guard:
                if not self._held:
                    self._is_renewing = False
                    return
                for lock in self._held:
                    try:
                        lock.renew()
                    except Exception:  # noqa: S112
                        # The connection was shut down: the lock ends.
                        continue


@functools.cache
def _process() -> _Process:
    """Return the locks of this process, created at the first use.

    Before, eventlet may still replace the classes of ``threading``.
    """
    return _Process()


def _versioned(*fields: bytes) -> bytes:
    """Return a structure as Ceph encodes it, with version 1 and its length."""
    body = b''.join(fields)
    return struct.pack('<BBI', 1, 1, len(body)) + body
