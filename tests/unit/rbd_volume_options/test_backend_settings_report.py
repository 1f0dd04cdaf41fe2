# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit import base

_FULL = backend_settings.BackendSettings(
    option_values.level(
        errors.Origin.BACKEND,
        object_size=1 << 20,
        striping=layout.Striping(4096, 8),
        object_map=True,
        image_features=frozenset(
            {'layering', 'exclusive-lock', 'object-map', 'fast-diff'}
        ),
        plain={keys.CACHE_MODE: cache_modes.CacheMode.WRITEBACK},
        data_pool='ec',
    ),
    operator_limits.Limits(
        max_stripe_count=8,
        require_whole_stripes=False,
        allowed={keys.CACHE_MODE: (cache_modes.CacheMode.WRITEBACK,)},
        tenant_options=frozenset({'rbd:cache_mode'}),
    ),
    1 << 22,
)


def _settings_of(
    report: dict[str, Any],
) -> backend_settings.BackendSettings | None:
    warnings: list[object] = []

    def warn(text: str, error: object) -> None:
        warnings.append(error)

    settings = backend_settings.settings_of(report, warn)
    if warnings:
        raise AssertionError(str(warnings))
    return settings


def _there_and_back(
    settings: backend_settings.BackendSettings,
) -> backend_settings.BackendSettings:
    parsed = _settings_of(backend_settings.reported(settings))
    if parsed is None:
        raise AssertionError('not taken for one of ours')
    return parsed


class FromCapabilitiesTest(base.TestCase):
    """Test settings_of(), the inverse of reported()."""

    def test_as_it_was_reported(self) -> None:
        parsed = _there_and_back(_FULL)
        self.assertEqual(_FULL.options, parsed.options)
        self.assertEqual(_FULL.limits, parsed.limits)

    def test_enforcement_survives_the_report(self) -> None:
        for strict in (True, False):
            settings = dataclasses.replace(_FULL, strict_cache_mode=strict)
            self.assertIs(strict, _there_and_back(settings).strict_cache_mode)

    def test_features_of_cephs_configuration(self) -> None:
        # An unknown feature of a later Ceph release is ignored.
        features = frozenset({'layering', 'object-map', 'striping'})
        report = backend_settings.reported(
            dataclasses.replace(_FULL, ceph_features=features)
        )
        report['rbd_default_features'] += ',tomorrow'
        settings = _settings_of(report)
        self.assertEqual(
            frozenset({'layering', 'object-map'}),
            settings.ceph_features if settings else None,
        )
        self.assertIsNone(_there_and_back(_FULL).ceph_features)

    def test_striping_of_cephs_configuration(self) -> None:
        striping = layout.Striping(65536, 2)
        settings = dataclasses.replace(_FULL, ceph_striping=striping)
        self.assertEqual(striping, _there_and_back(settings).ceph_striping)
        self.assertIsNone(_there_and_back(_FULL).ceph_striping)

    def test_data_pools(self) -> None:
        for names in (None, (), ('a', 'b')):
            settings = dataclasses.replace(_FULL, data_pools=names)
            self.assertEqual(names, _there_and_back(settings).data_pools)

    def test_stock_object_size(self) -> None:
        plain = dataclasses.replace(_FULL, options=options.Values())
        parsed = _there_and_back(plain)
        self.assertEqual(1 << 22, parsed.chunk_size)

    def test_report_of_other_driver_has_no_settings(self) -> None:
        for report in ({}, {'rbd_volume_options': 'true'}):
            self.assertIsNone(_settings_of(report))

    def test_what_is_not_understood(self) -> None:
        report = backend_settings.reported(_FULL)
        report['rbd_volume_cache_mode'] = 'of tomorrow'
        warnings: list[str] = []
        self.assertIsNone(
            backend_settings.settings_of(
                report, lambda text, error: warnings.append(text % error)
            )
        )
        self.assertIn('of tomorrow', warnings[0])
