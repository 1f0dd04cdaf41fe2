# SPDX-License-Identifier: Apache-2.0

"""Volume types: those of all projects, and those a caller may see."""

from collections.abc import Callable
from collections.abc import Mapping
import threading
import time
from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.volume import volume_types
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols

#: Seconds after which the types are read again. Other processes of the API may
#: have changed them.
MAX_AGE = 5.0


#: A volume type, as Cinder reads it for its own list.
KnownType = Mapping[str, Any]


class KnownTypes:
    """Reads all volume types with one statement, at most every few seconds.

    It has the types of all projects, which no response may show.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reading = threading.Lock()
        self._types: tuple[KnownType, ...] | None = None
        self._changes = 0
        self._expires = float('-inf')

    def all(self) -> tuple[KnownType, ...] | None:
        """Return the types; None while they are read for the first time."""
        if self._clock() >= self._expires and self._reading.acquire(
            blocking=False
        ):
            try:
                before = self._changes
                self._types = tuple(
                    volume_types.get_all_types(
                        cinder_context.get_admin_context(),
                        filters={'is_public': None},
                        list_result=True,
                    )
                )
                if before == self._changes:
                    self._expires = self._clock() + MAX_AGE
            finally:
                self._reading.release()
        return self._types

    def public(self, identity: object) -> KnownType | None:
        """Return a type that all projects may see, without a statement.

        :param identity: the id or the name in a request, not checked yet
        :returns: None if it must be looked up
        """
        matching = [
            each
            for each in self.all() or ()
            if identity in (each['id'], each['name'])
        ]
        if len(matching) != 1 or not matching[0]['is_public']:
            return None
        return matching[0]

    def forget(self) -> None:
        """Read the types again with the next request: one was changed."""
        self._changes += 1
        self._types = None
        self._expires = float('-inf')


def visible(context: protocols.Context, identity: str) -> Any:
    """Return the volume type with the id or name in a request.

    A private type of other projects is reported as not found, because messages
    would show its extra specs.
    """
    volume_type = objects.VolumeType.get_by_name_or_id(context, identity)
    # By id, Cinder returns only types that are visible to the caller.
    if volume_type.id == identity:
        return volume_type
    try:
        volume_types.get_volume_type(context, volume_type.id)
    except exception.VolumeTypeNotFound:
        if uuidutils.is_uuid_like(identity):
            raise exception.VolumeTypeNotFound(
                volume_type_id=identity
            ) from None
        raise exception.VolumeTypeNotFoundByName(
            volume_type_name=identity
        ) from None
    return volume_type


def of_new_volume(context: protocols.Context, wanted: object) -> Any:
    """Return the type of a new volume, as Cinder finds it; None if it refuses.

    :param wanted: the type in the request or of the source, if any
    """
    if wanted is None or wanted == '':
        try:
            return volume_types.get_default_volume_type(context)
        except exception.VolumeTypeDefaultMisconfiguredError:
            return None
    return visible(context, wanted) if isinstance(wanted, str) else None
