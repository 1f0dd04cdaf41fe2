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
from typing import Any

from lxml import etree
from nova import exception
from nova.virt.libvirt import host as libvirt_host

#: The item of ``connection_info`` that has the ID of the server.
SERVER = 'instance'
#: Attributes of a disk that a running guest cannot change.
TUNING = frozenset({'iothread', 'queues', 'discard_granularity'})


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk with a serial number in libvirt's XML of a guest.

    :ivar volume: its serial number, which is the ID of a volume
    :ivar attributes: of its elements ``driver`` and ``blockio``
    :ivar limits: its limits on reads and writes, by their names in Nova
    """

    volume: str
    attributes: Mapping[str, str]
    protocol: str = ''
    target: str = ''
    bus: str = ''
    limits: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest that is defined in libvirt.

    :ivar running: whether it is running or paused
    :ivar io_threads: how many I/O threads it has
    :ivar disks: by their serial number
    """

    server: str
    running: bool
    io_threads: int
    disks: Mapping[str, Disk]

    @property
    def has_tuned_disks(self) -> bool:
        """Whether a live migration must keep attributes of a disk."""
        return any(
            not TUNING.isdisjoint(disk.attributes)
            for disk in self.disks.values()
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
        return parse(guest.get_xml_desc(), guest.is_active())
    except libvirt_host.libvirt.libvirtError as error:
        # Nova translates the errors of the lookup, not those of a guest that
        # ends right after it.
        if error.get_error_code() == libvirt_host.libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise exception.InternalError(
            f'libvirt: {error.get_error_message()}'
        ) from error


def parse(xml: str, running: bool = True) -> Guest:
    """Return the guest that libvirt describes."""
    tree = etree.fromstring(xml)
    return Guest(
        tree.findtext('uuid', ''),
        running,
        int(tree.findtext('iothreads', '0')),
        {
            serial: _disk(element, serial)
            for element in tree.iter('disk')
            if (serial := element.findtext('serial'))
        },
    )


def _disk(element: Any, serial: str) -> Disk:
    def attributes(*names: str) -> dict[str, str]:
        children = [child for name in names for child in element.findall(name)]
        return {k: v for child in children for k, v in child.items()}

    target = attributes('target')
    return Disk(
        serial,
        attributes('driver', 'blockio'),
        attributes('source').get('protocol', ''),
        target.get('dev', ''),
        target.get('bus', ''),
        {limit.tag: limit.text for limit in element.iterfind('iotune/*')},
    )
