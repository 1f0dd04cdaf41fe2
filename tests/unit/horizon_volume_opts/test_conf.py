# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
