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

"""Test the replacement of the removal of an image."""

from typing import Any

from cinder_rbd_ext.imaging import removals
from tests.unit import base


class RemovalsTest(base.TestCase):
    def test_replaced_for_a_while(self) -> None:
        found = removals.Removals()

        def remove(rbd: Any, ioctx: Any, name: str) -> None:
            self.fail('not called')

        with found.replaced('volume', remove):
            self.assertIs(remove, found.of('volume'))
            self.assertIsNone(found.of('other'))
        self.assertIsNone(found.of('volume'))
