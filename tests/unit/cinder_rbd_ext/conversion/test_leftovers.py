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


"""Checks before repairs. The functional tests repair images on Ceph."""

from typing import Any

from cinder_rbd_ext.conversion import leftovers
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base


class LeftoversTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.ident = self.cluster.stored(self.volume.name).ident
        self.leftovers = leftovers.Leftovers(self.driver)

    def _removed(self, source_id: str) -> Any:
        with self.cluster.connected() as ioctx:
            return self.leftovers.removed(ioctx, self.volume.name, source_id)

    def test_former_image_that_was_not_replaced(self) -> None:
        self.assertFalse(self._removed(self.ident))

    def test_former_image_that_was_removed(self) -> None:
        self.assertTrue(self._removed('10a'))

    def test_missing_image(self) -> None:
        """Nothing is written."""
        with self.cluster.connected() as ioctx:
            self.assertRaises(
                fake_rados.ObjectNotFound,
                self.leftovers.relink,
                ioctx,
                'volume-x',
                '10a',
            )
        self.assertEqual([self.volume.name], self.cluster.names())
