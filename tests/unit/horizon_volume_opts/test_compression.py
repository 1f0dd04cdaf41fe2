# SPDX-License-Identifier: Apache-2.0

"""Test compressed values for the cache."""

from horizon_volume_opts import compression
from tests.unit import base


class CompressionTestCase(base.TestCase):
    def test_unpacked_value_is_the_packed_one(self) -> None:
        for value in ([], 'down', [{'name': 'größe', 'size': 1}] * 9):
            packed = compression.pack(value)
            self.assertIsInstance(packed, bytes)
            self.assertEqual(value, compression.unpack(packed))

    def test_similar_items_take_little_room(self) -> None:
        packed = compression.pack([{'name': f'type-{n}'} for n in range(9999)])
        self.assertLess(len(packed), 1 << 16)
