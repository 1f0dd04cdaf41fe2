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

"""Unit tests of rbd_operator.audit.images."""

import dataclasses

from rbd_operator.audit import images
from rbd_volume_options import layout
from tests.unit import base
from tests.unit.rbd_operator.audit import stubs


class ReadTest(base.TestCase):
    """A plain image; the functional tests cover other images."""

    def test_plain_image(self) -> None:
        pool = stubs.Pool('one')
        found = images.read(pool, pool, 'volumes', 'one', str)
        self.assertEqual(images.MapState.NONE, found.map_state)
        self.assertEqual(2, found.objects)
        # librbd counts the same: the last period of stripes is incomplete.
        striped = dataclasses.replace(
            found,
            size=2**20 + 1,
            image_layout=layout.ImageLayout.of(2**20, 2**16, 8),
        )
        self.assertEqual(8, striped.objects)
        self.assertEqual('', found.parent)
        self.assertEqual('', found.data_pool)
        self.assertEqual({'rbd_cache': 'false'}, found.overrides)
        self.assertIs(False, found.migrating)
