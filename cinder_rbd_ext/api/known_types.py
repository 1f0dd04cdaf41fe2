# SPDX-License-Identifier: Apache-2.0

"""The volume types of all projects, cached for a few seconds."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import threading
import time

from cinder import context as cinder_context
from cinder.volume import volume_types

#: Seconds after which the types are read again. Other processes of the API may
#: have changed them.
MAX_AGE = 5.0


@dataclasses.dataclass(frozen=True)
class KnownType:
    """A volume type.

    :ivar specs: its extra specs
    """

    ident: str
    name: str
    specs: Mapping[str, str]


class KnownTypes:
    """Reads all volume types with one statement, at most every few seconds.

    It decides only whether a request requires a closer look, which then reads
    the type itself. It has the types of all projects, so its content must not
    become part of a response.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reading = threading.Lock()
        self._types: tuple[KnownType, ...] | None = None
        self._changes = 0
        self._expires = float('-inf')

    def all(self) -> tuple[KnownType, ...] | None:
        """Return the types; None while they are read for the first time.

        Only one request at a time reads them.
        """
        if self._clock() >= self._expires and self._reading.acquire(
            blocking=False
        ):
            try:
                before = self._changes
                self._types = _read()
                if before == self._changes:
                    self._expires = self._clock() + MAX_AGE
            finally:
                self._reading.release()
        return self._types

    def forget(self) -> None:
        """Read the types again with the next request: one was changed."""
        self._changes += 1
        self._types = None
        self._expires = float('-inf')


def _read() -> tuple[KnownType, ...]:
    types = volume_types.get_all_types(
        cinder_context.get_admin_context(),
        filters={'is_public': None},
        list_result=True,
    )
    return tuple(
        KnownType(each['id'], each['name'], dict(each['extra_specs'] or {}))
        for each in types
    )
