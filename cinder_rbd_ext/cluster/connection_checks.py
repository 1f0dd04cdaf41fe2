# SPDX-License-Identifier: Apache-2.0

"""Checks of shared connections before their use, and their consequences."""

from collections.abc import Callable
import enum
import time
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import blocklisting
from cinder_rbd_ext.cluster import leased_client

LOG = logging.getLogger(__name__)

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


class Checks:
    """Checks the connections that are lent to operations.

    :param clock: returns the time in seconds
    :param retire: ends the use of connections for new operations; called with
        the lock held
    """

    def __init__(
        self,
        driver: protocols.Driver,
        clock: Callable[[], float],
        retire: Callable[[list[leased_client.SharedClient]], None],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._retire = retire

    def is_usable(
        self,
        lock: Any,
        group: leased_client.Group,
        client: leased_client.SharedClient,
        ioctx: protocols.Ioctx,
    ) -> bool:
        """Return whether a connection is usable; check it if necessary.

        Other operations wait for the result of the check.

        :param lock: protects the group and its connections
        """
        while True:
            with lock:
                if client.retired:
                    return False
                if self._clock() - client.verified_at < VERIFIED_FOR:
                    return True
                running = client.check
                if running is None:
                    check = client.check = leased_client.Attempt()
                    break
            running.wait()
        try:
            self._check(lock, group, client, ioctx)
        finally:
            client.check = None
            check.done = True
        return not client.retired

    def _check(
        self,
        lock: Any,
        group: leased_client.Group,
        client: leased_client.SharedClient,
        ioctx: protocols.Ioctx,
    ) -> None:
        began = self._clock()
        answer = ask(self._driver.rados, ioctx)
        with lock:
            replaced = []
            if answer is Answer.RESPONDED:
                client.verified_at, client.has_responded = began, True
                group.silent_since = None
            elif answer is Answer.REFUSED:
                replaced = [client]
            elif replaced := group.suspects(client, began):
                group.silent_since = self._clock()
            else:
                client.verified_at = self._clock() + SILENT_FOR
            self._retire(replaced)
        if replaced:
            LOG.warning(
                'Replacing %d connections to the Ceph cluster, because the '
                'OSDs do not respond',
                len(replaced),
            )
        elif answer is Answer.SILENT:
            LOG.warning(
                'The OSDs do not respond to a new connection to the Ceph '
                'cluster either; it is used unchecked for some time'
            )
