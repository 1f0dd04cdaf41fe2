# SPDX-License-Identifier: Apache-2.0

"""The previous disks of a guest while Nova creates the guest again.

A hard reboot and a start undefine the guest before Nova requests the
configuration of its disks. Nova disconnects the volumes before that, while
the guest still exists in libvirt. A rebuild detaches the volumes from the
guest first.
"""

from typing import Any

from nova import exception
from oslo_log import log as logging

from nova_rbd_cache import guests

LOG = logging.getLogger(__name__)


class PreviousDisks:
    """Cache modes of disconnected disks, kept in memory by this process."""

    def __init__(self) -> None:
        self._modes: dict[tuple[str, str], str | None] = {}

    def note(self, host: Any, server: str, serial: str) -> None:
        """Remember the cache mode of a disk before it is disconnected.

        :param host: Nova's object for libvirt
        :param server: the ID of the server
        :param serial: the serial number of the disk, which is the volume ID
        """
        guest = _find(host, server)
        if guest is None:
            # A retry disconnects again: keep the mode from the first time.
            return
        self._modes.pop((server, serial), None)
        if serial in guest.disks:
            self._modes[server, serial] = guest.disks[serial].get('cache')

    def note_all(self, host: Any, server: str) -> None:
        """Remember the cache modes of all disks of a guest."""
        guest = _find(host, server)
        for serial, disk in guest.disks.items() if guest else ():
            self._modes[server, serial] = disk.get('cache')

    def mode(self, server: str, serial: str) -> str | None:
        """Return the previous cache mode of a disk; None if unknown."""
        return self._modes.get((server, serial))


def _find(host: Any, server: str) -> guests.Guest | None:
    """Return the guest of a server; None if it is unknown."""
    try:
        return guests.of_server(host, server)
    except exception.InternalError as error:
        # The error is not raised: Nova must disconnect the volumes in any
        # case.
        LOG.warning(
            'Could not get the cache modes of server %(id)s from libvirt: '
            '%(error)s',
            {'id': server, 'error': error},
        )
        return None
