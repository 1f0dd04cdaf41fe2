# SPDX-License-Identifier: Apache-2.0

"""Checks of shared connections before their use."""

from collections.abc import Callable
import enum
import time
from typing import Any

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import blocklisting

#: Seconds for which the response of an OSD shows that a connection is usable.
VERIFIED_FOR = 1.0

#: Seconds for which a new connection is not checked again, if there is no
#: response to it either. Operations on other OSDs may succeed.
SILENT_FOR = 30.0

#: Seconds to wait for an OSD. Together with the time for a new connection, an
#: operation must be able to begin within ten seconds.
PATIENCE = 4.0

# Name of an object that does not exist; it is not created.
_OBJECT = 'cinder-connection-probe'

# Seconds between two checks of the operation. The first intervals are short:
# an idle OSD responds within a millisecond.
_SHORTEST, _LONGEST = 0.0002, 0.02


class Answer(enum.Enum):
    """What an OSD answers to a connection."""

    #: Any response, even a refusal because of missing capabilities.
    RESPONDED = enum.auto()
    #: The connection is permanently unusable.
    REFUSED = enum.auto()
    #: No response in time. The connection or the OSD may be the cause.
    SILENT = enum.auto()


def ask(
    rados: Any,
    ioctx: protocols.Ioctx,
    patience: float = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Return whether an OSD responds to a connection within some seconds.

    The operation only reads, so a full cluster responds as well. It uses no
    buffer and no callback: if this function returns before the response,
    librados cannot write to freed memory.
    """
    with rados.ReadOpCtx() as operation:
        operation.cmpext(b'\0', 0)
        try:
            completion = ioctx.operate_aio_read_op(operation, _OBJECT)
        except rados.Error:
            return Answer.REFUSED
    wait, waited = _SHORTEST, 0.0
    while not completion.is_complete():
        if waited >= patience:
            return Answer.SILENT
        sleep(wait)
        waited += wait
        wait = min(2 * wait, _LONGEST)
    number = -completion.get_return_value()
    if number in blocklisting.LOST:
        return Answer.REFUSED
    if number in blocklisting.DOUBTFUL:
        return Answer.SILENT
    return Answer.RESPONDED
