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

import random

from tests.life import content
from tests.unit import base


class ContentTestCase(base.TestCase):
    def test_what_is_written_is_read(self) -> None:
        data = bytearray(4 * content.BLOCK)
        data[content.BLOCK : 2 * content.BLOCK] = content.block(5)
        found = content.digests_in(8 * content.BLOCK, bytes(data))
        self.assertEqual(content.digests({9 * content.BLOCK: 5}), found)

    def test_zeros_are_nothing(self) -> None:
        self.assertEqual({}, content.digests_in(0, bytes(content.CHUNK)))

    def test_drawn_blocks_fit(self) -> None:
        for seed in range(20):
            blocks = content.drawn(random.Random(seed), 1)
            self.assertTrue(blocks)
            for at in map(int, blocks):
                self.assertEqual(0, at % content.BLOCK)
                self.assertLess(at, content.GIB)

    def test_a_restore_leaves_what_lies_beyond_the_backup(self) -> None:
        before = {0: 1, 4096: 2, content.GIB: 3}
        self.assertEqual(
            {0: 7, content.GIB: 3}, content.restored(before, {0: 7}, 1)
        )
