# SPDX-License-Identifier: Apache-2.0

"""Settings from nova.conf."""

from typing import Any

import ddt
from oslo_config import cfg

from nova_rbd_cache import opts
from nova_rbd_cache import settings
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options.families import cache_modes
from tests.unit import base

_STOCK = frozenset({'layering', 'exclusive-lock'})


@ddt.ddt
class SettingsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conf = cfg.ConfigOpts()
        self.conf([])
        opts.register(self.conf)

    def _read(self, **values: Any) -> settings.Settings:
        for name, value in values.items():
            self.conf.set_override(name, value, group='rbd_cache')
        return settings.read(self.conf)

    def test_defaults_allow_the_safe_modes(self) -> None:
        defaults = self._read()
        self.assertEqual(cache_modes.SAFE_CACHE_MODES, defaults.allowed_modes)
        self.assertFalse(defaults.ephemeral.given)
        self.assertFalse(defaults.disks.given)

    @ddt.data(
        ({'disk_iothread': True}, settings.DiskSettings(iothread=True)),
        ({'disk_queues': 4}, settings.DiskSettings(queues=4)),
    )
    @ddt.unpack
    def test_disk_options_are_read(
        self, options: dict[str, Any], expected: settings.DiskSettings
    ) -> None:
        disks = self._read(**options).disks
        self.assertEqual(expected, disks)
        self.assertTrue(disks.given)

    @ddt.data(
        ({'ephemeral_object_map': 'true'}, _STOCK | features.MAP_ON, False),
        ({'ephemeral_object_map': 'false'}, _STOCK, False),
        (
            {'ephemeral_image_features': 'layering'},
            frozenset({'layering'}),
            True,
        ),
        (
            {
                'ephemeral_image_features': 'layering,exclusive-lock,'
                'object-map',
                'ephemeral_object_map': 'yes',
            },
            features.MAP_ON | {'layering'},
            True,
        ),
    )
    @ddt.unpack
    def test_features_of_ephemeral_disks_are_read(
        self, options: dict[str, str], expected: frozenset[str], whole: bool
    ) -> None:
        ephemeral = self._read(**options).ephemeral
        self.assertTrue(ephemeral.given)
        self.assertIs(whole, ephemeral.whole)
        self.assertEqual(expected, ephemeral.features(_STOCK))

    def test_contradiction_names_both_options(self) -> None:
        error = self.assertRaises(
            errors.OptionError,
            self._read,
            ephemeral_object_map='false',
            ephemeral_image_features='layering,exclusive-lock,object-map',
        )
        self.assertIn('[rbd_cache] ephemeral_object_map', str(error))
        self.assertIn('[rbd_cache] ephemeral_image_features', str(error))
        self.assertNotIn('rbd:', str(error))
