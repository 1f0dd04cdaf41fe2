# SPDX-License-Identifier: Apache-2.0

"""The libvirt guest that a disk belongs to.

Nova requests the configuration of a disk from a volume driver without its
purpose: to attach the disk to an existing guest, to migrate that guest live,
or to create the guest again. The connection information from Cinder has the
ID of the server.
"""

from collections.abc import Mapping
import dataclasses
import types

from lxml import etree
from nova import exception
from nova.virt.libvirt import host as libvirt_host

#: The item of ``connection_info`` that has the ID of the server.
SERVER = 'instance'
#: Attributes of a disk that a running guest cannot change.
TUNING = frozenset({'iothread', 'queues', 'discard_granularity'})


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest that is defined in libvirt.

    :ivar running: whether it is running or paused
    :ivar io_threads: how many I/O threads it has
    :ivar disks: the attributes of the ``driver`` and ``blockio`` elements of
        each disk, by the serial number of the disk, which is the ID of a
        volume
    """

    running: bool
    io_threads: int
    disks: Mapping[str, Mapping[str, str]]

    @property
    def has_tuned_disks(self) -> bool:
        """Whether a live migration must keep attributes of a disk."""
        return any(
            not TUNING.isdisjoint(attributes)
            for attributes in self.disks.values()
        )


def find(host: libvirt_host.Host, server: str) -> Guest | None:
    """Return the guest of a server; None if libvirt has no such guest.

    :raises NovaException: if the query to libvirt fails
    """
    try:
        # Nova reads the ID, and the name for the message of an error.
        guest = host.get_guest(types.SimpleNamespace(uuid=server, name=server))
    except exception.InstanceNotFound:
        return None
    try:
        return _parse(guest.get_xml_desc(), guest.is_active())
    except libvirt_host.libvirt.libvirtError as error:
        # Nova translates the errors of the lookup, not those of a guest that
        # ends right after it.
        if error.get_error_code() == libvirt_host.libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise exception.InternalError(
            f'libvirt: {error.get_error_message()}'
        ) from error


def _parse(xml: str, running: bool) -> Guest:
    tree = etree.fromstring(xml)
    disks = {}
    for disk in tree.iter('disk'):
        serial = disk.findtext('serial')
        if serial:
            elements = disk.findall('driver') + disk.findall('blockio')
            disks[serial] = {k: v for e in elements for k, v in e.items()}
    return Guest(running, int(tree.findtext('iothreads', '0')), disks)
