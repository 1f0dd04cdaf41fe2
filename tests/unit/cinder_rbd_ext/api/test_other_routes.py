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

"""Unit tests of cinder_rbd_ext.api.other_routes.

The tests of ``routes`` check that they are routes of Cinder.
"""

from cinder_rbd_ext.api import other_routes
from tests.unit import base


class OtherRoutesTest(base.TestCase):
    """Test the list itself."""

    def test_each_is_there_once_and_changes_something(self) -> None:
        found = [
            each for part in other_routes.OTHERS.values() for each in part
        ]
        self.assertEqual(len(set(found)), len(found))
        for each in found:
            self.assertIn(each.split()[0], ('POST', 'PUT', 'DELETE'))
