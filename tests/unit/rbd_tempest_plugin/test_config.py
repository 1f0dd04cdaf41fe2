# SPDX-License-Identifier: Apache-2.0

from oslo_config import cfg

from rbd_tempest_plugin import config
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import sizes
from rbd_volume_options.families import cache_modes
from tests.unit import base


class ConfigTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conf = cfg.ConfigOpts()
        self.conf.register_opts(config.OPTIONS, group=config.GROUP)
        self.conf.register_opts(config.FEATURES, group=config.FEATURE_GROUP)

    def test_default_layout_can_be_had(self) -> None:
        options = self.conf.rbd_volume_options
        wanted = layout.ImageLayout.from_numbers(
            sizes.parse_size(keys.OBJECT_SIZE, options.object_size),
            sizes.parse_size(keys.STRIPE_UNIT, options.stripe_unit),
            options.stripe_count,
        )
        self.assertIsNotNone(wanted.striping)

    def test_a_single_stripe_is_no_test(self) -> None:
        self.assertRaises(
            ValueError,
            self.conf.set_override,
            'stripe_count',
            1,
            config.GROUP.name,
        )

    def test_cache_modes_are_those_that_lose_nothing(self) -> None:
        self.assertEqual(
            {mode.value for mode in cache_modes.SAFE_CACHE_MODES},
            set(self.conf.rbd_volume_options.cache_modes),
        )

    def test_what_needs_more_than_cinder_is_off(self) -> None:
        features = self.conf.rbd_volume_options_feature_enabled
        self.assertFalse(features.cache_mode)
        self.assertFalse(config.SERVICE_OPTION.default)

    def test_every_option_is_explained(self) -> None:
        for option in (
            config.SERVICE_OPTION,
            *config.OPTIONS,
            *config.FEATURES,
        ):
            self.assertTrue(str(option.help).endswith('.'), option.name)
