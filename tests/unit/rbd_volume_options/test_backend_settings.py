# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20

#: Options, the invalid option, its value, part of the reason.
_REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    'unit_alone': (
        {'rbd_volume_stripe_unit': '64K'},
        'rbd_volume_stripe_unit',
        '64K',
        'set without rbd_volume_stripe_count',
    ),
    'count_alone': (
        {'rbd_volume_stripe_count': '8'},
        'rbd_volume_stripe_count',
        '8',
        'set without rbd_volume_stripe_unit',
    ),
    'unit_larger_than_the_object': (
        {
            'rbd_volume_object_size': '64K',
            'rbd_volume_stripe_unit': '128K',
            'rbd_volume_stripe_count': '2',
        },
        'rbd_volume_stripe_unit',
        '131072',
        'not a factor of the object size, 64 KiB',
    ),
    'count_over_the_limit': (
        {
            'rbd_volume_stripe_unit': '64K',
            'rbd_volume_stripe_count': '9',
            'rbd_max_stripe_count': 8,
        },
        'rbd_volume_stripe_count',
        '9',
        'more than this back end allows',
    ),
    'mode_not_listed': (
        {'rbd_volume_cache_mode': 'unsafe'},
        'rbd_volume_cache_mode',
        'unsafe',
        'not allowed by this back end',
    ),
    'map_against_features': (
        {'rbd_volume_object_map': 'true', 'rbd_volume_features': 'layering'},
        'rbd_volume_object_map',
        'true',
        'contradicts rbd_volume_features = layering',
    ),
    'burst_below_its_limit': (
        {'rbd_volume_iops_limit': '100', 'rbd_volume_iops_burst': '50'},
        'rbd_volume_iops_burst',
        '50',
        'less than rbd_volume_iops_limit = 100',
    ),
    'chunk_size_no_power_of_two': (
        {'rbd_store_chunk_size': 6},
        'rbd_store_chunk_size',
        '6',
        'not an object size',
    ),
    'chunk_size_too_large': (
        {'rbd_store_chunk_size': 64},
        'rbd_store_chunk_size',
        '64',
        'not an object size',
    ),
    'chunk_size_zero': (
        {'rbd_store_chunk_size': 0},
        'rbd_store_chunk_size',
        '0',
        'not an object size',
    ),
}


@ddt.ddt
class ReadTest(base.TestCase):
    def test_nothing_set(self) -> None:
        read = backend_settings.BackendSettings.read(cinder_objects.section())
        self.assertEqual(options.Values(), read.options)
        safe = {keys.CACHE_MODE: cache_modes.SAFE_CACHE_MODES}
        self.assertEqual(operator_limits.Limits(allowed=safe), read.limits)
        self.assertEqual(4 * _MIB, read.chunk_size)

    def test_everything_set(self) -> None:
        read = backend_settings.BackendSettings.read(
            cinder_objects.section(
                rbd_volume_object_size='1M',
                rbd_volume_stripe_unit='64K',
                rbd_volume_stripe_count='8',
                rbd_volume_object_map='true',
                rbd_volume_cache_mode='unsafe',
                rbd_allowed_cache_modes='unsafe,none',
                rbd_tenant_options='rbd:stripe_unit,rbd:stripe_count',
                rbd_max_stripe_count=16,
                rbd_require_whole_stripes=False,
                rbd_min_object_size='16K',
                rbd_max_objects=1 << 20,
                rbd_cache_mode_enforcement='lenient',
                rbd_volume_data_pool='data',
                rbd_store_chunk_size=8,
            )
        )
        self.assertEqual(
            option_values.level(
                errors.Origin.BACKEND,
                object_size=_MIB,
                striping=layout.Striping(64 << 10, 8),
                object_map=True,
                plain={keys.CACHE_MODE: cache_modes.CacheMode.UNSAFE},
                data_pool='data',
            ),
            read.options,
        )
        self.assertEqual(
            operator_limits.Limits(
                16,
                False,
                {
                    keys.CACHE_MODE: (
                        cache_modes.CacheMode.UNSAFE,
                        cache_modes.CacheMode.NONE,
                    )
                },
                frozenset({'rbd:stripe_unit', 'rbd:stripe_count'}),
                16 << 10,
                1 << 20,
            ),
            read.limits,
        )
        self.assertEqual(8 * _MIB, read.chunk_size)

    def test_disk_geometry_is_the_default_sector_size(self) -> None:
        for own, geometry, expected in (
            (None, '4k', '4096'),
            (None, '512e', '512e'),
            ('512', '4k', '512'),
            (None, None, None),
        ):
            settings = cinder_objects.settings(
                rbd_volume_sector_size=own, disk_geometry=geometry
            )
            self.assertEqual(expected, settings.options.get(keys.SECTOR_SIZE))

    def test_enforcement_is_strict_by_default(self) -> None:
        for enforcement, strict in (('strict', True), ('lenient', False)):
            settings = cinder_objects.settings(
                rbd_cache_mode_enforcement=enforcement
            )
            self.assertIs(strict, settings.strict_cache_mode)
        self.assertTrue(cinder_objects.settings().strict_cache_mode)

    def test_level_holds_options_of_the_backend(self) -> None:
        read = cinder_objects.settings(rbd_volume_object_size='1M')
        self.assertEqual(
            options.Choice(_MIB, errors.Origin.BACKEND),
            read.options.choice(keys.OBJECT_SIZE),
        )

    @ddt.data(*_REFUSED)
    def test_refused_in_the_words_of_cinder_conf(self, case: str) -> None:
        section, option, value, reason = _REFUSED[case]
        error = self.assertRaises(
            errors.OptionError,
            backend_settings.BackendSettings.read,
            cinder_objects.section(**section),
        )
        self.assertEqual((option, value), (error.key, str(error.value)))
        self.assertIn(reason, error.reason)
        self.assertEqual(errors.Origin.BACKEND, error.origin)
        self.assertNotIn('rbd:', str(error))

    def test_unit_against_an_object_size_of_elsewhere(self) -> None:
        """The stripe unit may fit the object size of a volume type."""
        read = cinder_objects.settings(
            rbd_volume_stripe_unit='8M', rbd_volume_stripe_count='2'
        )
        self.assertEqual(
            layout.Striping(8 * _MIB, 2), read.options[keys.STRIPING]
        )


class CapabilitiesTest(base.TestCase):
    def test_nothing_set(self) -> None:
        self.assertEqual(
            {
                'rbd_volume_options': True,
                'rbd_allowed_cache_modes': [
                    'none',
                    'writethrough',
                    'writeback',
                    'directsync',
                ],
                'rbd_cloud_id': None,
                'rbd_tenant_options': [],
                'rbd_max_stripe_count': 64,
                'rbd_require_whole_stripes': True,
                'rbd_min_object_size': 64 << 10,
                'rbd_max_objects': 1 << 24,
                'rbd_cache_mode_enforcement': 'strict',
                'rbd_volume_object_size': 4 * _MIB,
                'rbd_volume_stripe_unit': None,
                'rbd_volume_stripe_count': None,
                'rbd_volume_object_map': None,
                'rbd_volume_cache_mode': None,
                'rbd_volume_data_pool': None,
                'rbd_data_pools': None,
                'rbd_volume_features': None,
                'rbd_default_features': None,
                'rbd_default_stripe_unit': None,
                'rbd_default_stripe_count': None,
            },
            backend_settings.reported(
                cinder_objects.settings(rbd_tenant_options='')
            ),
        )

    def test_everything_set(self) -> None:
        shown = backend_settings.reported(
            cinder_objects.settings(
                rbd_volume_object_size='1M',
                rbd_volume_stripe_unit='64K',
                rbd_volume_stripe_count='8',
                rbd_volume_object_map='false',
                rbd_volume_features='layering,exclusive-lock',
                rbd_volume_cache_mode='none',
                rbd_allowed_cache_modes='none',
                rbd_tenant_options='rbd:stripe_unit,rbd:object_size',
                rbd_max_stripe_count=16,
                rbd_require_whole_stripes=False,
                rbd_min_object_size='16K',
                rbd_max_objects=1 << 20,
                rbd_cache_mode_enforcement='lenient',
                rbd_volume_data_pool='data',
            )
        )
        self.assertEqual(
            {
                'rbd_volume_options': True,
                'rbd_allowed_cache_modes': ['none'],
                'rbd_cloud_id': None,
                'rbd_tenant_options': ['rbd:object_size', 'rbd:stripe_unit'],
                'rbd_max_stripe_count': 16,
                'rbd_require_whole_stripes': False,
                'rbd_min_object_size': 16 << 10,
                'rbd_max_objects': 1 << 20,
                'rbd_cache_mode_enforcement': 'lenient',
                'rbd_volume_object_size': _MIB,
                'rbd_volume_stripe_unit': 64 << 10,
                'rbd_volume_stripe_count': 8,
                'rbd_volume_object_map': False,
                'rbd_volume_cache_mode': 'none',
                'rbd_volume_data_pool': 'data',
                'rbd_data_pools': None,
                'rbd_volume_features': 'exclusive-lock,layering',
                'rbd_default_features': None,
                'rbd_default_stripe_unit': None,
                'rbd_default_stripe_count': None,
            },
            shown,
        )
