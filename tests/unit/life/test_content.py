# SPDX-License-Identifier: Apache-2.0

import random

from tests.life import content
from tests.unit import base


class ContentTestCase(base.TestCase):
    def test_what_is_written_is_read(self) -> None:
        data = bytearray(4 * content.BLOCK)
        data[content.BLOCK : 2 * content.BLOCK] = content.block(5)
        digests = content.digests_in(8 * content.BLOCK, bytes(data))
        self.assertEqual(content.digests({9 * content.BLOCK: 5}), digests)

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
