# SPDX-License-Identifier: Apache-2.0

"""Recorded properties of volumes, read from Horizon's class."""

from typing import Any

from cinderclient.v3 import volumes
import ddt
from openstack_dashboard.api import cinder

from horizon_volume_opts import volume_attributes
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud


def _volume(**changes: object) -> cinder.Volume:
    shown = fake_cloud.Cloud().add_volume('v', **changes)
    return cinder.Volume(volumes.Volume(None, shown, loaded=True))


@ddt.ddt
class OfVolumeTestCase(base.TestCase):
    def test_recorded_image_is_read(self) -> None:
        state = options.image_values(
            layout.ImageLayout(2**23, layout.Striping(2**16, 8)),
            frozenset({'layering', 'striping'}),
        )
        self.assertEqual(
            volume_attributes.Made(state, {}),
            volume_attributes.of_volume(_volume()),
        )
        self.assertFalse(volume_attributes.has_object_map(state))

    def test_cinder_without_the_extension(self) -> None:
        shown = {'id': 'v', 'size': 1}
        volume = cinder.Volume(volumes.Volume(None, shown, loaded=True))
        self.assertEqual(
            volume_attributes.Made(None, {}),
            volume_attributes.of_volume(volume),
        )

    @ddt.data(
        {'object_size': '4M'},
        {'object_size': True},
        {'object_size': -1},
        {'object_size': 4194304.0},
        {'stripe_unit': 'x'},
        {'stripe_unit': -512},
        {'stripe_count': [8]},
        {'features': 61},
        {'features': 'layering'},
        {'features': [['layering']]},
    )
    def test_an_invalid_record_is_none(self, change: dict[str, Any]) -> None:
        named = {f'{fake_cloud.ALIAS}:{k}': v for k, v in change.items()}
        self.assertIsNone(volume_attributes.of_volume(_volume(**named)).state)

    @ddt.data(7, 'x', ['x'], {'reason': ['x'], 'object_size': []})
    def test_invalid_parts(self, value: Any) -> None:
        named = {
            f'{fake_cloud.ALIAS}:{name}': value
            for name in (
                'data_pool',
                'cache_modes',
                'origins',
                'attach_refused',
                'conversion',
                'limits',
            )
        }
        attributes = volume_attributes.of_volume(_volume(**named))
        self.assertIsNotNone(attributes.state)
        self.assertEqual({}, attributes.origins)
        self.assertEqual((), attributes.refusals)
        self.assertEqual({None}, {None, *attributes.cache_modes.values()})
