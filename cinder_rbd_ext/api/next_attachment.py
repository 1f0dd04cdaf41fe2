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

"""The route below a volume that shows what its next attachment requires.

nova-scheduler asks for it before Nova moves a server, because Cinder gets the
connector of the new host only after Nova has stopped the guest.
"""

import functools
from typing import Any

from cinder import objects
from cinder.api.openstack import wsgi
from cinder.objects import fields

from cinder_rbd_ext import policies
from cinder_rbd_ext.api import attachments
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.attach import agreement
from rbd_volume_options import wire

Answer = dict[str, Any]


class NextAttachmentController(wsgi.Controller):
    """Shows what an attachment requires of a compute host."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    def index(self, req: Any, volume_id: str) -> Answer:
        """Return the cache modes of which the host must offer one.

        Only the driver knows a ``conf_rbd_cache`` of the RBD image, which can
        refuse the attachment on each host.
        """
        context = req.environ['cinder.context']
        volume = objects.Volume.get_by_id(context, volume_id)
        policies.check(context, policies.GET, volume)
        requirement = self._required(
            volume, req.GET.get(wire.NEXT_ATTACHMENT_SERVER)
        )
        modes = requirement.modes
        return {
            wire.NEXT_ATTACHMENT: {
                wire.REQUIRED_CACHE_MODES: (
                    None if modes is None else [mode.value for mode in modes]
                ),
                wire.NEXT_ATTACHMENT_REASON: (
                    str(requirement.error) if requirement.error else None
                ),
            }
        }

    def _required(
        self, volume: Any, server: str | None
    ) -> agreement.Requirement:
        here = self._reported.holding(volume)
        if here is None or here.settings is None:
            return agreement.Requirement()
        # Nova reserves an attachment when it offloads a shelved server.
        waiting = [
            each
            for each in volume.volume_attachment
            if each.instance_uuid == server
            and each.attach_status == fields.VolumeAttachStatus.RESERVED
        ]
        earlier = attachments.earlier_of(volume.id, server, *waiting[:1])
        return agreement.required(
            volume, here.settings, functools.cache(earlier)
        )
