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

"""What libvirt has of the guest that a disk is for.

Nova asks a volume driver for the XML of a disk without telling it for what:
to attach it to a guest that is there, to migrate such a guest live, or to
make the guest anew. What Cinder says of the attachment names the server.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

from lxml import etree
from nova import exception
from nova import objects
from nova.virt.libvirt import host as libvirt_host

#: The server's id, in the ``connection_info`` of attachments.
SERVER = 'instance'


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest that libvirt has.

    :ivar running: whether it runs, or is paused
    :ivar io_threads: how many I/O threads it has
    :ivar disks: attributes of the ``driver`` element of each disk, by the
        disk's serial number, which for a volume is its id
    """

    running: bool
    io_threads: int
    disks: Mapping[str, Mapping[str, str]]


def find(host: libvirt_host.Host, connection_info: Any) -> Guest | None:
    """Return the guest; nothing where there is none yet, or no name for it.

    :raises InternalError: where libvirt can't be asked
    """
    server = connection_info.get(SERVER)
    return of_server(host, server) if server else None


def of_server(host: libvirt_host.Host, server: str) -> Guest | None:
    """Return the guest of a server; nothing where libvirt has none.

    :raises InternalError: where libvirt can't be asked
    """
    try:
        # All that is read of the server is its id.
        found = host.get_guest(objects.Instance(uuid=server))
    except exception.InstanceNotFound:
        return None
    return _parse(found.get_xml_desc(), found.is_active())


def _parse(xml: str, running: bool) -> Guest:
    tree = etree.fromstring(xml)
    disks = {}
    for disk in tree.iter('disk'):
        serial, driver = disk.findtext('serial'), disk.find('driver')
        if serial:
            disks[serial] = {} if driver is None else dict(driver.attrib)
    return Guest(running, int(tree.findtext('iothreads', '0')), disks)
