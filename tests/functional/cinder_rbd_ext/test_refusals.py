# SPDX-License-Identifier: Apache-2.0

"""The driver refuses invalid input before it creates anything."""

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base


class RefusalTest(base.DriverTestCase):
    """A refusal has a reason, which is recorded, and leaves no image.

    Unit tests have all invalid values.
    """

    def test_invalid_metadata_leaves_no_image(self) -> None:
        for metadata, expected in (
            ({'rbd:stripes': '8'}, 'unknown key'),
            ({keys.OBJECT_SIZE: '3M'}, 'not a power of two'),
            (
                {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'},
                'not a multiple of 64 KiB x 3',
            ),
        ):
            self._check(self.new_volume(metadata), expected, metadata)

    def _check(
        self, volume: object, expected: str, metadata: dict[str, str]
    ) -> None:
        error = self.assertRaises(
            exceptions.VolumeOptionRefused, self.driver.create_volume, volume
        )
        for text in (str(error), self.reason(volume) or ''):
            self.assertIn(expected, text)
            self.assertTrue(any(key in text for key in metadata), text)
            self.assertIn('allowed: ', text)
        self.assertEqual([], self.cluster.names())

    def test_too_many_objects_for_an_object_map(self) -> None:
        metadata = {keys.OBJECT_SIZE: '4K', keys.OBJECT_MAP: 'true'}
        volume = self.new_volume(metadata, size=2048)
        self._check(volume, '256,000,000', metadata)

    def test_a_pool_that_does_not_exist(self) -> None:
        type_id = self.make_type(rbd_data_pool='nowhere')
        volume = self.new_volume(volume_type=type_id)
        self._check(volume, 'the pool does not exist', {keys.DATA_POOL: ''})

    def test_keys_that_tenants_may_not_set(self) -> None:
        for allowed, specs in (
            ('', {}),
            (base.ALL_TENANT_KEYS, {'rbd_tenant_options': keys.CACHE_MODE}),
        ):
            driver = self.make_driver(rbd_tenant_options=allowed)
            volume = self.new_volume(base.ASKED, self.make_type(**specs))
            error = self.assertRaises(
                exceptions.VolumeOptionRefused, driver.create_volume, volume
            )
            self.assertIn('tenants may not set this key', str(error))
            self.assertEqual([], self.cluster.names())

    def test_the_type_may_allow_more_than_the_backend(self) -> None:
        driver = self.make_driver(rbd_tenant_options='')
        type_id = self.make_type(rbd_tenant_options=','.join(base.ASKED))
        volume = self.made_volume(base.ASKED, type_id, driver)
        self.assertEqual(base.MADE, self.layout_of(volume))
