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

"""Attachments that replace another attachment of the same server."""

from typing import Any

from cinder import context as cinder_context
from cinder import objects
from cinder.db import api as db
import ddt
from oslo_utils import fixture as timeutils_fixture

from cinder_rbd_ext.attach import requester
from tests.unit.cinder_rbd_ext.attach import test_connection

_PLAIN = test_connection._PLAIN
_PLUGGED = test_connection._PLUGGED
_BOTH = 'writethrough,writeback'
_OTHER_SERVER = '22222222-2222-4333-8444-555555555555'


@ddt.ddt
class ReplacedTest(test_connection.AttachingTestCase):
    """A mode that is no longer available, and servers that have it."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.waiting()
        mode = self.data(self.volume, _PLUGGED)['cache_mode']
        (self.attached,) = requester.current(self.volume).volume_attachment
        self.attached.attach_status = 'attached'
        self.attached.connection_info = {'cache_mode': mode}
        self.attached.attached_host = 'compute-0'
        self.attached.connector = {**_PLUGGED, 'host': 'compute-0'}
        self.attached.save()
        self.volume.status = 'in-use'
        self.volume.save()
        self.driver = self.make_driver(rbd_allowed_cache_modes='none')

    def detach(self) -> None:
        """End the attachment as the volume service does."""
        db.volume_detached(
            cinder_context.get_admin_context(),
            self.volume.id,
            self.attached.id,
        )

    def test_live_migration(self) -> None:
        """A live migration ends the old attachment last."""
        self.reserve(self.volume)
        data = self.data(self.volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('not allowed by this back end', self.log.output)

    def test_evacuation_keeps_mode(self) -> None:
        """An evacuation ends the old attachment before the new one."""
        self.reserve(self.volume)
        self.detach()
        data = self.data(self.volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])

    @ddt.data(_PLAIN, {**_PLAIN, 'rbd_cache_modes': ['none']})
    def test_host_has_its_say(self, connector: dict[str, Any]) -> None:
        self.reserve(self.volume)
        self.check_refused(self.volume, connector, "'writeback'")

    def test_detached_and_attached_again(self) -> None:
        self.detach()
        with timeutils_fixture.TimeFixture() as clock:
            clock.advance_time_seconds(5)
            self.reserve(self.volume)
        self.check_refused(
            self.volume, _PLUGGED, 'not allowed by this back end'
        )

    @ddt.data(
        {'host': 'compute-0'},
        {'host': 'compute-0', 'rbd_cache_modes': ['none']},
        {**_PLUGGED, 'host': 'compute-0'},
    )
    def test_rebuild_keeps_mode(self, connector: dict[str, Any]) -> None:
        """A rebuild on the same host keeps the mode, whatever has changed."""
        stored = self.cluster.stored(self.volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        self.reserve(self.volume)
        self.detach()
        data = self.data(self.volume, connector)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('that it has on this server already', self.log.output)
        self.assertIn('conf_rbd_cache = false', self.log.output)
        self.assertIsNone(self.refusal(self.volume))

    def test_rebuild_of_an_image_with_a_setting(self) -> None:
        self.driver = self.make_driver(rbd_allowed_cache_modes=_BOTH)
        stored = self.cluster.stored(self.volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        self.volume.metadata = {'rbd:cache_mode': 'writethrough'}
        self.volume.save()
        self.reserve(self.volume)
        self.detach()
        offers = {'rbd_cache_modes': ['writethrough']}
        self.check_refused(
            self.volume, {**_PLAIN, **offers}, 'conf_rbd_cache = false'
        )
        data = self.data(self.volume, {'host': 'compute-0', **offers})
        self.assertEqual('writeback', data['cache_mode'])

    def test_live_migration_from_a_host_without_the_plug_in(self) -> None:
        """The guest and its record have no mode until the guest restarts."""
        self.driver = self.make_driver(rbd_allowed_cache_modes=_BOTH)
        self.attached.connector = {'host': 'compute-0'}
        self.attached.save()
        self.reserve(self.volume)
        self.assertNotIn('cache_mode', self.data(self.volume, _PLUGGED))
        self.assertIn('next attachment gets the mode', self.log.output)
        # A cold migration creates the guest again.
        self.detach()
        data = self.data(self.volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])

    def test_another_server(self) -> None:
        objects.VolumeAttachment(
            self.context,
            volume_id=self.volume.id,
            attach_status='reserved',
            instance_uuid=_OTHER_SERVER,
        ).create()
        self.check_refused(
            self.volume, _PLUGGED, 'not allowed by this back end'
        )
