#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Disks that a guest had, while Nova makes it again.

A hard reboot and a start undefine the guest before Nova asks for its disks.
Nova disconnects the volumes first, and libvirt has the guest then.
"""

from typing import Any

from nova import exception
from oslo_log import log as logging

from nova_rbd_cache import guests

LOG = logging.getLogger(__name__)


class PreviousDisks:
    """The cache modes of disconnected disks, for the life of the process."""

    def __init__(self) -> None:
        self._modes: dict[tuple[str, str], str | None] = {}

    def note(self, host: Any, server: str, serial: str) -> None:
        """Remember the cache mode of a disk that is about to go.

        :param host: Nova's object for libvirt
        :param serial: the disk's serial number, which is the volume's id
        """
        try:
            guest = guests.of_server(host, server)
        except exception.InternalError as error:
            # Not raised: the volume is to be disconnected whatever it had.
            LOG.warning(
                'Could not ask libvirt for the cache mode of volume '
                '%(id)s: %(error)s',
                {'id': serial, 'error': error},
            )
            return
        if guest is None:
            # Disconnected again, by a retry: what was noted then holds.
            return
        self._modes.pop((server, serial), None)
        if serial in guest.disks:
            self._modes[server, serial] = guest.disks[serial].get('cache')

    def mode(self, server: str, serial: str) -> str | None:
        """Return the cache mode that a server's disk had; None if unknown."""
        return self._modes.get((server, serial))
