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

"""Who a connection is for: a server, or somebody who has no QEMU.

Cinder's manager calls a driver's ``initialize_connection`` with a volume and
a connector, whoever asked. Only a server's QEMU has a cache mode; everybody
else must never be refused for one. What tells them apart is what Cinder has
recorded of the volume, read anew from its database:

=============================  =========================  ==========
Who asks                       What Cinder knows          Consumer
=============================  =========================  ==========
Nova, of a host with our       the connector lists        ``SERVER``
plug-in                        modes
Nova: attach, boot, resize,    an attachment with a       ``SERVER``
migration, unshelve, rebuild,  server, which waits for
swap [1]_                      its connection
The driver's own upload of a   the connector is empty     ``OTHER``
raw image [2]_
Upload of other formats,       the driver itself          ``OTHER``
re-image, new encryption key   attaches
[3]_
Backup, restoring one,         no attachment waits        ``OTHER``
host-assisted migration,
retype with one [4]_
The same, on a volume that     one waits, and Cinder      ``UNKNOWN``
a server is about to get       itself is at work
Glance on Cinder [5]_          its attachment has no      ``OTHER``
                               server
Ironic, Zun and others by      no attachment yet          ``OTHER``
``os-initialize_connection``
[6]_
``cinder local-attach`` from   an attachment with a       ``SERVER``
3.44 on [7]_                   server id that it made up
=============================  =========================  ==========

.. [1] ``cinder.volume.manager``: ``attachment_update``, which comes with the
   record of an attachment that ``cinder.volume.api`` has made in status
   ``reserved``; connector and status are written after the driver answered.
   Nova makes a new attachment whenever a server comes to another host.
.. [2] ``cinder.volume.drivers.rbd``: ``_get_rbd_handle``.
.. [3] ``cinder.volume.driver``: ``_attach_volume``, called by the driver.
.. [4] ``cinder.volume.manager``: ``initialize_connection``, by
   ``cinder.backup.manager`` and ``_copy_volume_data``. No attachment is made
   for those; that of a server which has the volume is complete.
.. [5] ``glance_store.common.cinder_utils``: ``attachment_create``.
.. [6] ``cinder.api.contrib.volume_actions``; the attachment is made by
   ``os-attach``, afterwards.
.. [7] ``brick_cinderclient_ext.client``: ``_attach``. Cinder can't know it
   from a server of Nova's.

``UNKNOWN`` can be either of two, within the same second or so. It is not
refused, since it may be Cinder itself, and gets no mode, with a warning.
"""

from collections.abc import Mapping
import enum
from typing import Any

from cinder import context
from cinder import objects
from cinder.objects import fields

from cinder_rbd_ext.attach import host_modes
from cinder_rbd_ext.attach import replacement

# Of an attachment that was made and isn't connected yet.
_WAITING = (
    fields.VolumeAttachStatus.RESERVED,
    fields.VolumeAttachStatus.ATTACHING,
    fields.VolumeAttachStatus.ERROR_ATTACHING,
)

# Of a volume that servers may be given. In all others Cinder works on it.
_FREE = (
    fields.VolumeStatus.RESERVED,
    fields.VolumeStatus.ATTACHING,
    fields.VolumeStatus.IN_USE,
    fields.VolumeStatus.DETACHING,
)

# Of a volume that is being copied, which with an unlocked one is not told by
# its status.
_MOVING = ('starting', 'migrating', 'completing')


#: Of a volume that a backup is restored to; the second is one that Cinder
#: makes for it.
RESTORING = (
    fields.VolumeStatus.RESTORING_BACKUP,
    fields.VolumeStatus.CREATING,
)


class Consumer(enum.Enum):
    """Who a connection is for."""

    SERVER = 'server'
    OTHER = 'other'
    UNKNOWN = 'unknown'


class OwnConnector(dict[str, Any]):
    """The connector of this very service, by which the driver attaches."""


def current(volume: Any) -> Any:
    """Return a volume as it stands in the database, attachments included."""
    return objects.Volume.get_by_id(context.get_admin_context(), volume.id)


def of_connection(volume: Any, connector: Mapping[str, Any]) -> Consumer:
    """Return who a connection is for.

    :param volume: the volume, from :func:`current`
    """
    if not connector or isinstance(connector, OwnConnector):
        return Consumer.OTHER
    if host_modes.of_connector(connector) is not None:
        return Consumer.SERVER
    waits = any(
        attachment.instance_uuid and attachment.attach_status in _WAITING
        for attachment in volume.volume_attachment
    )
    if not waits:
        return Consumer.OTHER
    if volume.status in _FREE and volume.migration_status not in _MOVING:
        return Consumer.SERVER
    return Consumer.UNKNOWN


def replaced(volume: Any) -> replacement.Earlier | None:
    """Return the attachment that the one which waits replaces.

    :param volume: the volume, from :func:`current`
    """
    return replacement.of_waiting(volume, _WAITING)
