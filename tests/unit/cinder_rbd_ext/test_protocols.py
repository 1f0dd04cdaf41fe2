# SPDX-License-Identifier: Apache-2.0

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
