# SPDX-License-Identifier: Apache-2.0

"""Operations on RADOS objects, for the fake ``rados`` module."""

from collections.abc import Iterator
import errno
import time
from typing import Any
from typing import NamedTuple


class ReadOp:
    """``rados.ReadOp``: one comparison, or values of keys.

    :ivar keys: the keys that are read
    :ivar found: all keys and values of the object
    """

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.found: dict[str, str] = {}

    def values(self) -> Iterator[tuple[str, bytes]]:
        """Yield the keys that exist, with their values."""
        for key in self.keys:
            if key in self.found:
                yield key, self.found[key].encode()

    def __enter__(self) -> 'ReadOp':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def cmpext(self, data: bytes, offset: int = 0) -> None:
        """Compare a part of the object."""


class Completion:
    """``rados.Completion`` of an operation.

    :param status: the result; None if the OSD does not respond
    """

    def __init__(self, status: int | None) -> None:
        self._status = status

    def is_complete(self) -> bool:
        """Return whether the OSD has responded."""
        return self._status is not None

    def get_return_value(self) -> int:
        """Return the result."""
        return self._status or 0


class Locker(NamedTuple):
    """Who has a lock: a client with a cookie, and until when."""

    client: object
    cookie: str
    kind: int
    until: float


class Locks:
    """The advisory locks of the objects of a pool, as of the class ``lock``.

    :ivar held: the lockers, by object and name of the lock
    """

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], list[Locker]] = {}

    def forget(self, key: str) -> None:
        """Remove the locks of an object that was removed."""
        for place in [place for place in self.held if place[0] == key]:
            del self.held[place]

    def run(self, client: object, key: str, method: str, data: bytes) -> int:
        """Run a method of the class on an object, and return its result."""
        name, *rest = _fields(data, method)
        now = time.monotonic()
        lockers = [x for x in self.held.get((key, name), []) if x.until > now]
        self.held[key, name] = lockers
        *kinds, cookie, duration, flags = (
            rest if method == 'lock' else (rest[-1], 0, 0)
        )
        kind = kinds[0] if kinds else 0
        own = [x for x in lockers if (x.client, x.cookie) == (client, cookie)]
        others = [x for x in lockers if x not in own]
        if method == 'assert_locked':
            return 0 if own else -errno.EBUSY
        if method == 'unlock' or flags == 2:
            if not own:
                return -errno.ENOENT
        elif own:
            return -errno.EEXIST
        elif others and (kind == 1 or others[0].kind == 1):
            return -errno.EBUSY
        self.held[key, name] = others
        if method == 'lock':
            locker = Locker(client, cookie, kind, now + duration)
            self.held[key, name] = [*others, locker]
        return 0


def _fields(data: bytes, method: str) -> list[Any]:
    """Decode the structure of an operation, such as ``cls_lock_lock_op``.

    :returns: the name, the kind if it counts, the cookie, and for a new lock
        the duration and the flags
    """
    if data[:2] != b'\1\1' or int.from_bytes(data[2:6], 'little') != len(
        data[6:]
    ):
        raise ValueError(data)
    fields: list[Any] = []
    rest = data[6:]
    kinds = {'lock': 'sbsssddb', 'unlock': 'ss', 'assert_locked': 'sbss'}
    for kind in kinds[method]:
        size = {'b': 1, 'd': 4}.get(kind)
        if size is None:
            size = int.from_bytes(rest[:4], 'little')
            rest = rest[4:]
        value, rest = rest[:size], rest[size:]
        fields.append(
            value.decode() if kind == 's' else int.from_bytes(value, 'little')
        )
    if method == 'assert_locked':
        return [fields[0], fields[2]]
    if method == 'lock':
        name, number, cookie, _tag, _text, duration, _nanoseconds, flags = (
            fields
        )
        return [name, number, cookie, duration, flags]
    return fields


class WriteOp:
    """``rados.WriteOp``: one write, or operations on a lock.

    :ivar key: the key that the object must have
    :ivar calls: the methods of object classes, with their data
    """

    def __init__(self) -> None:
        self.data = b''
        self.what = 'write'
        self.key: str | None = None
        self.calls: list[tuple[str, str, bytes]] = []

    def __enter__(self) -> 'WriteOp':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def write_full(self, data: bytes) -> None:
        """Replace the object."""
        self.data = data

    def write(self, data: bytes, offset: int = 0) -> None:
        """Overwrite a part of the object."""
        self.data, self.what = data, 'write part'

    def remove(self) -> None:
        """Remove the object."""
        self.what = 'remove'

    def omap_cmp(self, key: str, value: str, comparison: int = 1) -> None:
        """Compare the value of a key: here, whether it exists."""
        if (value, comparison) != ('', 3):
            raise ValueError(value, comparison)
        self.key = key

    def execute(self, group: str, method: str, data: bytes) -> None:
        """Call a method of an object class."""
        self.calls.append((group, method, data))

    def metadata(self) -> dict[str, str]:
        """Return the image metadata that it writes."""
        ((_, _, data),) = (x for x in self.calls if x[1] == 'metadata_set')
        texts, at = [], 4
        while at < len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], 'little')
            texts.append(data[at + 4 : end].decode())
            at = end
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def rm_xattr(self, name: str) -> None:
        """Remove an attribute, which no test looks at."""
