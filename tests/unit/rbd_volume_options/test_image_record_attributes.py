# SPDX-License-Identifier: Apache-2.0

from rbd_volume_options import image_record
from rbd_volume_options import wire
from tests.unit import base

_RECORD = {
    'rbd:object_size': '1048576',
    'rbd:stripe_unit': '65536',
    'rbd:stripe_count': '8',
    'rbd:features': 'layering,striping',
    'rbd:data_pool': 'ec',
    'rbd:recorded_by': 'host@ceph',
    'rbd:origins': 'object_size=cluster,striping=volume_type',
}


class AttributesOfRecordTest(base.TestCase):
    def _shown(
        self, backend: str = 'host@ceph', shows_pools: bool = True
    ) -> dict[str, object]:
        return image_record.attributes_of(
            backend, frozenset(_RECORD.items()), shows_pools
        )

    def test_recorded_image_is_shown(self) -> None:
        shown = self._shown()
        self.assertEqual(1 << 20, shown[wire.ATTRIBUTE_OBJECT_SIZE])
        self.assertEqual(8, shown[wire.ATTRIBUTE_STRIPE_COUNT])
        self.assertEqual(
            ['layering', 'striping'], shown[wire.ATTRIBUTE_FEATURES]
        )
        self.assertEqual('ec', shown[wire.ATTRIBUTE_DATA_POOL])

    def test_name_of_pool_is_hidden(self) -> None:
        shown = self._shown(shows_pools=False)
        self.assertIsNone(shown[wire.ATTRIBUTE_DATA_POOL])

    def test_image_of_another_back_end_is_not_shown(self) -> None:
        shown = self._shown('host@elsewhere')
        self.assertIsNone(shown[wire.ATTRIBUTE_OBJECT_SIZE])
        self.assertIsNone(shown[wire.ATTRIBUTE_ORIGINS])

    def test_object_size_that_no_key_sets_is_that_of_the_back_end(
        self,
    ) -> None:
        self.assertEqual(
            {
                'object_size': 'backend configuration',
                'striping': 'volume type',
                'features': 'volume metadata',
            },
            self._shown()[wire.ATTRIBUTE_ORIGINS],
        )
