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

"""Test the response of Cinder's API to nova-scheduler."""

import dataclasses
from typing import Any

from cinder import objects
import oslo_messaging

from tests.unit.cinder_rbd_ext.api import base

_SERVER = '11111111-2222-4333-8444-555555555555'


class NextAttachmentTest(base.ApiTestCase):
    def required(self, volume: Any, server: str = '', **how: Any) -> Any:
        """Return the required cache modes of a volume and the reason."""
        path = f'/volumes/{volume.id}/os-rbd-volume-options'
        if server:
            path += f'?instance_uuid={server}'
        found = self.ok('GET', path, **how)['next_attachment']
        self.assertEqual({'required_cache_modes', 'reason'}, set(found))
        return found['required_cache_modes'], found['reason']

    def attached(self, volume: Any, mode: str, status: str) -> Any:
        """Create an attachment to the server on a host."""
        found = objects.VolumeAttachment(
            self.admin_context,
            volume_id=volume.id,
            attach_status=status,
            instance_uuid=_SERVER,
            attached_host='compute-7',
        )
        found.create()
        if mode:
            found.connection_info = {'cache_mode': mode}
            found.save()
        return found

    def test_own_mode_that_of_the_type_and_that_of_the_back_end(self) -> None:
        own = self.volume({'rbd:cache_mode': 'directsync'})
        modes, reason = self.required(own)
        self.assertEqual(['directsync'], modes)
        self.assertIn("rbd:cache_mode = 'directsync'", reason)
        of_back_end = self.volume(volume_type='rbd2')
        self.assertEqual(['writeback'], self.required(of_back_end)[0])
        self.set_specs('rbd', rbd__cache_mode='writethrough')
        of_type = self.volume()
        self.assertEqual(['writethrough'], self.required(of_type)[0])

    def test_any_host(self) -> None:
        asked = {'rbd:cache_mode': 'writeback'}
        for volume in (
            self.volume(),
            self.volume(volume_type='fake'),
            self.volume(asked, volume_type='fake'),
            # Its mode is none on every host, with or without the plug-in.
            self.volume(asked, volume_type='shared', multiattach=True),
            self.volume(asked, host='host@gone#gone'),
        ):
            self.assertEqual((None, None), self.required(volume))

    def test_lenient_backend_requires_no_mode(self) -> None:
        lenient = dataclasses.replace(base.settings(), strict_cache_mode=False)
        self.get_pools.return_value = [base.pool('rbd', lenient)]
        volume = self.volume({'rbd:cache_mode': 'writeback'})
        self.assertEqual((None, None), self.required(volume))

    def test_not_allowed_by_the_back_end(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'unsafe'})
        modes, reason = self.required(volume, _SERVER)
        self.assertEqual([], modes)
        self.assertIn('not allowed by this back end', reason)
        # A server that has the volume keeps its mode on the next host.
        self.attached(volume, 'writethrough', 'attached')
        self.assertEqual(['writethrough'], self.required(volume, _SERVER)[0])
        self.assertEqual([], self.required(volume)[0])

    def test_shelved_and_offloaded(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'unsafe'})
        before = self.attached(volume, 'writeback', 'attached')
        self.attached(volume, '', 'reserved')
        before.destroy()
        self.assertEqual(['writeback'], self.required(volume, _SERVER)[0])

    def test_who_may_ask(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'writeback'})
        for app in (self.reader, self.admin):
            self.assertEqual(['writeback'], self.required(volume, app=app)[0])
        path = f'/volumes/{volume.id}/os-rbd-volume-options'
        self.refused(404, volume.id, 'GET', path, app=self.stranger)

    def test_scheduler_that_does_not_answer(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'writeback'})
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout
        path = f'/volumes/{volume.id}/os-rbd-volume-options'
        self.refused(503, 'scheduler', 'GET', path)
