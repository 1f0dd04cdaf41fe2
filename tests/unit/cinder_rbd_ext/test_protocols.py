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

"""Volumes of Cinder and the driver are what this package requires."""

from cinder_rbd_ext import protocols
from tests.unit.cinder_rbd_ext import base


class ProtocolsTest(base.DriverTestCase):
    def test_volume_of_cinder_has_all_attributes(self) -> None:
        volume = self.made_volume()
        self.assertIsInstance(volume, protocols.Volume)
        self.assertNotIsInstance(object(), protocols.Volume)

    def test_driver_has_all_attributes(self) -> None:
        self.assertIsInstance(self.driver, protocols.Driver)
        self.assertNotIsInstance(object(), protocols.Driver)
