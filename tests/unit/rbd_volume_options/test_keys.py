#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

from rbd_volume_options import definitions
from rbd_volume_options import keys
from tests.unit import base


class KeysTestCase(base.TestCase):
    def test_each_key_has_the_prefix_and_fits_in_the_database(self) -> None:
        for key in (keys.TENANT_OPTIONS, *definitions.OPTIONS):
            self.assertTrue(key.startswith(keys.PREFIX), key)
            self.assertLess(len(key), keys.MAX_NAME)
