# SPDX-License-Identifier: Apache-2.0

"""Checks that the clients of an image respond.

Ceph removes the watch of a client from which it received nothing for 30
seconds (``osd_client_watch_timeout``). If another client then needs the
exclusive lock, librbd breaks the lock and blocklists the former owner. This
also happens during a change that librbd forwarded to the owner of the lock if
the owner stops answering. A server whose network failed for a short time would
then lose its disk.
"""

from collections.abc import Iterator
import contextlib
import os
import sys
import threading

from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import outcomes

#: Seconds within which each client must answer.
PATIENCE = 10.0
#: Seconds between two checks of the clients during a change. The sum of
#: INTERVAL and PATIENCE must be well below 30 seconds.
INTERVAL = 5.0
#: Exit status of the command when it ends because a client does not answer.
ENDED = 3

NO_ANSWER = outcomes.Reason(
    'no-answer',
    'a client that has the image open does not answer; a change could '
    'blocklist the client',
    'Check the host of the client: rbd status <image>. Run the command again '
    'when the client answers, or has closed the image.',
)


@contextlib.contextmanager
def answering(
    cluster: scan.Cluster, pool: str, name: str, ident: str
) -> Iterator[None]:
    """Run a change only while the clients of an image answer.

    If a client stops answering during the change, this process exits: a call
    of librbd cannot be interrupted, and librbd would break the lock of the
    client. The journal makes it safe to exit.

    :param cluster: provides a connection other than that of the change
    :param ident: librbd's id of the image
    :raises Refused: if a client does not answer before the change
    """
    librados = cluster.librados
    changed = threading.Event()

    def answer() -> bool:
        """Return whether all clients acknowledge a notification.

        An empty notification makes them read the header of the image again.
        """
        try:
            ioctx.notify(f'rbd_header.{ident}', '', int(PATIENCE * 1000))
        except librados.ObjectNotFound:
            # The image was deleted; no client has it open.
            return True
        except librados.Error:
            return False
        return True

    def ask() -> None:
        while not changed.wait(INTERVAL):
            if not answer() and not changed.is_set():
                _end(f'{pool}/{name}')

    with cluster.connected(pool) as (_, ioctx):
        if not answer():
            raise outcomes.Refused(NO_ANSWER)
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            yield
        finally:
            changed.set()
            asking.join()


def _end(image: str) -> None:
    """Exit immediately, without closing an image."""
    print(
        f'A client of {image} has stopped answering. The command ends now, so '
        'that librbd does not break its lock. Run the command again with the '
        'same journal.',
        file=sys.stderr,
        flush=True,
    )
    os._exit(ENDED)
