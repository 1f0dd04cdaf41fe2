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

"""Recorded properties of volumes, read from Horizon's class."""

from cinderclient.v3 import volumes
from openstack_dashboard.api import cinder

from horizon_volume_opts import made
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud


def _volume(**changes: object) -> cinder.Volume:
    shown = fake_cloud.Cloud().add_volume('v', **changes)
    return cinder.Volume(volumes.Volume(None, shown, loaded=True))


class OfVolumeTestCase(base.TestCase):
    def test_recorded(self) -> None:
        state = plan.ImageState(
            layout.ImageLayout(2**23, layout.Striping(2**16, 8)),
            frozenset({'layering', 'striping'}),
        )
        self.assertEqual(made.Made(state, {}), made.of_volume(_volume()))
        self.assertFalse(made.has_object_map(state))

    def test_of_another_driver(self) -> None:
        found = made.of_volume(
            _volume(**{'os-rbd-volume-options:object_size': None})
        )
        self.assertIsNone(found.state)

    def test_cinder_without_the_extension(self) -> None:
        shown = {'id': 'v', 'size': 1}
        volume = cinder.Volume(volumes.Volume(None, shown, loaded=True))
        self.assertEqual(made.Made(None, {}), made.of_volume(volume))

    def test_attachments(self) -> None:
        modes = {'a': 'writeback', 'b': None}
        found = made.of_volume(
            _volume(**{'os-rbd-volume-options:cache_modes': modes})
        )
        self.assertEqual(modes, found.cache_modes)
