# SPDX-License-Identifier: Apache-2.0

"""Test the settings of the plug-in."""

from django.test import utils

from horizon_volume_opts import conf
from tests.unit import base


class GetTestCase(base.TestCase):
    def test_default_applies_without_setting(self) -> None:
        self.assertEqual(60, conf.get(conf.DISCOVERY_CACHE))

    def test_what_the_operator_says(self) -> None:
        with utils.override_settings(
            RBD_VOLUME_OPTIONS={'discovery_cache': 5}
        ):
            self.assertEqual(5, conf.get(conf.DISCOVERY_CACHE))
            self.assertEqual(3, conf.get(conf.DISCOVERY_TIMEOUT))
