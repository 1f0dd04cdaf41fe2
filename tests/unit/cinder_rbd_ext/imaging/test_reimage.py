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

import json

from cinder_rbd_ext.imaging import reimage
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests import feature_bits
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20
_LAYOUT = layout.ImageLayout(_MIB, layout.Striping(64 << 10, 8))
_STATE = plan.ImageState(
    _LAYOUT, frozenset({'layering', 'deep-flatten', 'striping'}), 'data'
)
_STOCK = plan.ImageState(
    layout.ImageLayout(4 * _MIB), frozenset({'layering', 'exclusive-lock'})
)


class PlanRemadeTest(base.TestCase):
    def test_as_it_was(self) -> None:
        how = reimage.plan_remade(
            cinder_objects.volume(), _STATE, _STOCK, None
        )
        self.assertEqual(
            plan.ImagePlan(_LAYOUT, _STATE.image_features, 'data'), how
        )

    def test_what_multiattach_took_comes_back(self) -> None:
        """Restore features that stock disabled for multi-attach."""
        volume = cinder_objects.volume(
            provider_location=json.dumps(
                {'saved_features': feature_bits.LAYERING | feature_bits.LOCK}
            )
        )
        how = reimage.plan_remade(volume, _STATE, _STOCK, None)
        self.assertIn('exclusive-lock', how.image_features or ())
