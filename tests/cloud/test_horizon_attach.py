# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The dashboard's form Attach Volume, as a tenant uses it."""

from tests.cloud import servers
from tests.cloud import volume_form


class AttachTest(volume_form.FormTestCase, servers.ServerTestCase):
    def test_writeback(self) -> None:
        server = self.boot()
        volume = self.created(name='to attach')
        self.open(f'/project/volumes/{volume}/attach/')
        self.pick('instance', server)
        modes = [
            option.get_attribute('value')
            for option in self.all('#id_rbd_cache_mode option')
        ]
        self.assertEqual(
            ['', 'none', 'writethrough', 'writeback', 'directsync'], modes
        )
        self.choose_value('#id_rbd_cache_mode', 'writeback')
        self.whole_screenshot('attach-volume', 'form#attach_volume_form')
        self.click('form input[type="submit"]')
        self.addCleanup(self.detach, server, volume)
        self.wait_for(volume, 'in-use')
        self.assertEqual('writeback', self.cache_mode(server, volume))
        self.open(
            f'/project/volumes/{volume}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        self.assertIn(': writeback', shown)

    def test_shared_volume_says_why_not(self) -> None:
        volume = self.created(volume_type='rbd-multiattach')
        self.open(f'/project/volumes/{volume}/attach/')
        field = self.find('#id_rbd_cache_mode')
        self.assertFalse(field.is_enabled())
        self.assertIn(
            'know nothing of each other',
            self.text('#id_rbd_cache_mode_hint'),
        )
