# SPDX-License-Identifier: Apache-2.0

"""Operations on RADOS objects, for the fake ``rados`` module."""

from collections.abc import Iterator


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


class WriteOp:
    """``rados.WriteOp``: one write."""

    def __init__(self) -> None:
        self.data = b''
        self.what = 'write'

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
