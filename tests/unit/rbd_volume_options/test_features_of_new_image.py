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


import ddt

from rbd_volume_options import features
from tests.unit import base


@ddt.ddt
class OfNewImageTestCase(base.TestCase):
    @ddt.data(
        ('layering', False, False, 'layering'),
        ('layering,fast-diff', False, False, 'layering'),
        (
            'exclusive-lock,object-map',
            False,
            False,
            'exclusive-lock,fast-diff,object-map',
        ),
        ('layering', True, True, 'data-pool,layering,striping'),
        ('layering,striping,data-pool', False, False, 'layering'),
    )
    @ddt.unpack
    def test_as_librbd_makes_it(
        self, wanted: str, striped: bool, data_pool: bool, expected: str
    ) -> None:
        made = features.of_new_image(
            frozenset(wanted.split(',')), striped, data_pool
        )
        self.assertEqual(expected, features.joined(made))
