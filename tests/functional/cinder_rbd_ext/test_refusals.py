# SPDX-License-Identifier: Apache-2.0

"""The driver refuses invalid input before it creates anything."""

import ddt

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base

_REFUSED = {
    'unknown key': ({'rbd:stripes': '8'}, 'unknown key'),
    'unit without a count': ({keys.STRIPE_UNIT: '64K'}, 'stripe_count'),
    'count without a unit': ({keys.STRIPE_COUNT: '8'}, 'stripe_unit'),
    'no power of two': ({keys.OBJECT_SIZE: '3M'}, 'not a power of two'),
    'zero': ({keys.OBJECT_SIZE: '0'}, 'a power of two from 4 KiB'),
    'negative': ({keys.OBJECT_SIZE: '-1'}, 'not a size'),
    'float': ({keys.OBJECT_SIZE: '1e3'}, 'not a size'),
    '255 digits': ({keys.OBJECT_SIZE: '1' * 255}, 'not a size'),
    'unicode digits': ({keys.OBJECT_SIZE: '٤٠٩٦'}, 'not a size'),
    'too small': ({keys.OBJECT_SIZE: '2K'}, '4 KiB to 32 MiB'),
    'too large': ({keys.OBJECT_SIZE: '64M'}, '4 KiB to 32 MiB'),
    'a list without commas': (
        {keys.FEATURES: 'layering exclusive-lock'},
        'a comma-separated list',
    ),
    'unknown feature': ({keys.FEATURES: 'layering,speed'}, 'speed'),
    'missing prerequisite': (
        {keys.FEATURES: 'layering,object-map'},
        'object-map requires exclusive-lock',
    ),
    'map both ways': (
        {keys.FEATURES: 'layering', keys.OBJECT_MAP: 'true'},
        'contradicts',
    ),
    'not a boolean': ({keys.OBJECT_MAP: 'maybe'}, 'not a boolean'),
    'unit larger than the object': (
        {
            keys.OBJECT_SIZE: '64K',
            keys.STRIPE_UNIT: '128K',
            keys.STRIPE_COUNT: '2',
        },
        'not a factor of the object size',
    ),
    'more stripes than allowed': (
        {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '128'},
        '1 to 64',
    ),
    'partial stripes': (
        {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'},
        'not a multiple of 64 KiB x 3',
    ),
    'a pool, by a tenant': (
        {keys.DATA_POOL: 'volumes-data'},
        'not a key of volume metadata',
    ),
    'unsafe, not listed': ({keys.CACHE_MODE: 'unsafe'}, 'not allowed'),
}


@ddt.ddt
class RefusalTest(base.DriverTestCase):
    """Tests for each kind of invalid input to create_volume."""

    @ddt.data(*_REFUSED)
    def test_invalid_metadata_leaves_no_image(self, kind: str) -> None:
        metadata, expected = _REFUSED[kind]
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
        volume = self.new_volume(type_id=type_id)
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
