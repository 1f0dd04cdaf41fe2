# SPDX-License-Identifier: Apache-2.0

import types

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base

_RECORD = image_record.Record(
    options.image_values(
        layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
        frozenset({'layering', 'striping'}),
        'ec',
    ).with_origins(
        {
            keys.OBJECT_SIZE: errors.Origin.CLUSTER,
            keys.STRIPING: errors.Origin.VOLUME_TYPE,
        }
    ),
    'host@ceph',
)


class AttributesOfRecordTest(base.TestCase):
    def _shown(
        self, host: str = 'host@ceph#pool', shows_pools: bool = True
    ) -> dict[str, object]:
        volume = types.SimpleNamespace(
            name_id='image',
            provider_id=_RECORD.text('image'),
            host=host,
            cluster_name=None,
        )
        return image_record.attributes_of(volume, {}, shows_pools)

    def test_recorded_image_is_shown(self) -> None:
        shown = self._shown()
        self.assertEqual(1 << 20, shown[definitions.ATTRIBUTE_OBJECT_SIZE])
        self.assertEqual(8, shown[definitions.ATTRIBUTE_STRIPE_COUNT])
        self.assertEqual(
            ['layering', 'striping'], shown[definitions.ATTRIBUTE_FEATURES]
        )
        self.assertEqual('ec', shown[definitions.ATTRIBUTE_DATA_POOL])

    def test_name_of_pool_is_hidden(self) -> None:
        shown = self._shown(shows_pools=False)
        self.assertIsNone(shown[definitions.ATTRIBUTE_DATA_POOL])

    def test_image_of_another_back_end_is_not_shown(self) -> None:
        shown = self._shown('host@elsewhere#pool')
        self.assertIsNone(shown[definitions.ATTRIBUTE_OBJECT_SIZE])
        self.assertIsNone(shown[image_record.ATTRIBUTE_ORIGINS])

    def test_object_size_that_no_key_sets_is_that_of_the_back_end(
        self,
    ) -> None:
        self.assertEqual(
            {
                'object_size': 'backend configuration',
                'striping': 'volume type',
                'features': 'volume metadata',
            },
            self._shown()[image_record.ATTRIBUTE_ORIGINS],
        )
