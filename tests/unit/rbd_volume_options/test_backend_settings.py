# SPDX-License-Identifier: Apache-2.0

import dataclasses
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

#: The invalid option, its value, part of the reason, and other options.
_REFUSED: tuple[tuple[str, Any, str, dict[str, Any]], ...] = (
    (
        *('stripe_unit', '64K', 'set without rbd_volume_stripe_count'),
        {},
    ),
    (
        *('stripe_count', '8', 'set without rbd_volume_stripe_unit'),
        {},
    ),
    (
        *('stripe_unit', '131072', 'not a factor of the object size, 64 KiB'),
        {'object_size': '64K', 'stripe_count': '2'},
    ),
    (
        *('stripe_count', '65', 'more than this back end allows'),
        {'stripe_unit': '64K'},
    ),
    ('cache_mode', 'unsafe', 'not allowed by this back end', {}),
    (
        *('object_map', 'true', 'contradicts rbd_volume_features = layering'),
        {'features': 'layering'},
    ),
    (
        *('iops_burst', '50', 'less than rbd_volume_iops_limit = 100'),
        {'iops_limit': '100'},
    ),
)
_EVERYTHING: dict[str, Any] = {
    'rbd_volume_object_size': '1M',
    'rbd_volume_stripe_unit': '64K',
    'rbd_volume_stripe_count': '8',
    'rbd_volume_object_map': 'false',
    'rbd_volume_features': 'layering,exclusive-lock',
    'rbd_volume_cache_mode': 'unsafe',
    'rbd_volume_data_pool': 'data',
    'rbd_allowed_cache_modes': 'unsafe,none',
    'rbd_tenant_options': 'rbd:stripe_unit,rbd:stripe_count',
    'rbd_max_stripe_count': 16,
    'rbd_require_whole_stripes': False,
    'rbd_min_object_size': '16K',
    'rbd_max_objects': 1 << 20,
    'rbd_cache_mode_enforcement': 'lenient',
    'rbd_store_chunk_size': 8,
}
#: The same as a report to the scheduler.
_REPORT: dict[str, Any] = {
    'rbd_volume_options': True,
    'rbd_volume_object_size': _MIB,
    'rbd_volume_stripe_unit': 64 << 10,
    'rbd_volume_stripe_count': 8,
    'rbd_volume_object_map': False,
    'rbd_volume_features': 'exclusive-lock,layering',
    'rbd_volume_cache_mode': 'unsafe',
    'rbd_volume_data_pool': 'data',
    'rbd_allowed_cache_modes': ['unsafe', 'none'],
    'rbd_tenant_options': ['rbd:stripe_count', 'rbd:stripe_unit'],
    'rbd_max_stripe_count': 16,
    'rbd_require_whole_stripes': False,
    'rbd_min_object_size': 16 << 10,
    'rbd_max_objects': 1 << 20,
    'rbd_cache_mode_enforcement': 'lenient',
    'rbd_cloud_id': None,
    'rbd_data_pools': None,
    'rbd_default_features': None,
    'rbd_default_stripe_unit': None,
    'rbd_default_stripe_count': None,
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
        read = cinder_objects.settings(**_EVERYTHING)
        modes = cache_modes.CacheMode
        self.assertEqual(
            option_values.level(
                errors.Origin.BACKEND,
                object_size=_MIB,
                striping=layout.Striping(64 << 10, 8),
                object_map=False,
                image_features=frozenset({'layering', 'exclusive-lock'}),
                plain={keys.CACHE_MODE: modes.UNSAFE},
                data_pool='data',
            ),
            read.options,
        )
        self.assertEqual(
            errors.Origin.BACKEND, read.options.origin(keys.OBJECT_SIZE)
        )
        self.assertEqual(
            operator_limits.Limits(
                16,
                False,
                {keys.CACHE_MODE: (modes.UNSAFE, modes.NONE)},
                frozenset({'rbd:stripe_unit', 'rbd:stripe_count'}),
                16 << 10,
                1 << 20,
            ),
            read.limits,
        )
        self.assertEqual(8 * _MIB, read.chunk_size)
        self.assertFalse(read.strict_cache_mode)

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

    @ddt.data(*_REFUSED)
    @ddt.unpack
    def test_refused_in_the_words_of_cinder_conf(
        self, name: str, value: str, reason: str, others: dict[str, Any]
    ) -> None:
        section = {
            f'rbd_volume_{other}': text
            for other, text in {name: value, **others}.items()
        }
        self._assert_refused(f'rbd_volume_{name}', value, reason, **section)

    def test_chunk_size_is_one_that_librbd_supports(self) -> None:
        for size in (6, 64, 0):
            self._assert_refused(
                *('rbd_store_chunk_size', str(size), 'not an object size'),
                rbd_store_chunk_size=size,
            )

    def _assert_refused(
        self, option: str, value: str, reason: str, **section: Any
    ) -> None:
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


def _settings_of(
    report: dict[str, Any],
) -> backend_settings.BackendSettings:
    def warn(text: str, error: object) -> None:
        raise AssertionError(text % error)

    settings = backend_settings.settings_of(report, warn)
    if settings is None:
        raise AssertionError('not taken for one of ours')
    return settings


class ReportTest(base.TestCase):
    """What a back end reports is read by the API."""

    def test_everything_set(self) -> None:
        settings = cinder_objects.settings(**_EVERYTHING)
        self.assertEqual(_REPORT, backend_settings.reported(settings))
        read = _settings_of(_REPORT)
        self.assertEqual(settings.options, read.options)
        self.assertEqual(settings.limits, read.limits)
        self.assertFalse(read.strict_cache_mode)

    def test_nothing_set(self) -> None:
        settings = cinder_objects.settings(rbd_tenant_options='')
        modes = ['none', 'writethrough', 'writeback', 'directsync']
        report = {
            **{
                name: None if name.startswith('rbd_volume_') else value
                for name, value in _REPORT.items()
            },
            'rbd_volume_options': True,
            'rbd_volume_object_size': 4 * _MIB,
            'rbd_allowed_cache_modes': modes,
            'rbd_tenant_options': [],
            'rbd_max_stripe_count': 64,
            'rbd_require_whole_stripes': True,
            'rbd_min_object_size': 64 << 10,
            'rbd_max_objects': 1 << 24,
            'rbd_cache_mode_enforcement': 'strict',
        }
        self.assertEqual(report, backend_settings.reported(settings))
        read = _settings_of(report)
        self.assertEqual(4 * _MIB, read.chunk_size)
        self.assertTrue(read.strict_cache_mode)
        for value in (read.ceph_features, read.ceph_striping, read.data_pools):
            self.assertIsNone(value)

    def test_facts_about_the_cluster(self) -> None:
        striping = layout.Striping(65536, 2)
        for names in ((), ('a', 'b')):
            settings = dataclasses.replace(
                cinder_objects.settings(),
                ceph_features=frozenset({'layering', 'object-map'}),
                ceph_striping=striping,
                data_pools=names,
            )
            report = backend_settings.reported(settings)
            # Features that are not ours, or of a later release, are ignored.
            report['rbd_default_features'] += ',striping,tomorrow'
            read = _settings_of(report)
            self.assertEqual(settings.ceph_features, read.ceph_features)
            self.assertEqual(striping, read.ceph_striping)
            self.assertEqual(names, read.data_pools)

    def test_report_that_is_not_ours_or_not_understood_is_ignored(
        self,
    ) -> None:
        warnings: list[str] = []
        for report in (
            {},
            {'rbd_volume_options': 'true'},
            {**_REPORT, 'rbd_volume_cache_mode': 'of tomorrow'},
        ):
            self.assertIsNone(
                backend_settings.settings_of(
                    report, lambda text, error: warnings.append(text % error)
                )
            )
        self.assertEqual(1, len(warnings))
        self.assertIn('of tomorrow', warnings[0])
