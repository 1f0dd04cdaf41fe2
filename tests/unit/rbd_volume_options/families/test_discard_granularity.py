# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import sizes
from rbd_volume_options.families import discard
from tests.unit import base

_STRIPED = layout.ImageLayout(
    4 * sizes.MIB, layout.Striping(64 * sizes.KIB, 8)
)
_OF_THREE = layout.ImageLayout(4 * sizes.MIB, layout.Striping(sizes.MIB, 3))
_LARGE = layout.ImageLayout(
    32 * sizes.MIB, layout.Striping(32 * sizes.MIB, 64)
)


@ddt.ddt
class DiscardGranularityTest(base.TestCase):
    @ddt.data(
        ('layout', 'layout'),
        ('4096', '4KiB'),
        ('32K', '32KiB'),
        ('1g', '1GiB'),
    )
    @ddt.unpack
    def test_size_may_have_any_unit(self, text: str, expected: str) -> None:
        word = discard.parse_granularity(text)
        self.assertEqual(expected, word)
        self.assertIn(word, discard.GRANULARITIES)

    @ddt.data('2K', '512', '12M', '2G', '0', 'auto', 'Layout', '')
    def test_refusal_says_what_is_allowed(self, text: str) -> None:
        error = self.assertRaises(
            errors.OptionError, discard.parse_granularity, text
        )
        self.assertIn('layout, or a power of two from 4 KiB', str(error))

    @ddt.data(
        ('layout', layout.ImageLayout(8 * sizes.MIB), 8 * sizes.MIB),
        ('layout', _STRIPED, 32 * sizes.MIB),
        # Linux would split a discard of 12 MiB that is aligned to it.
        ('layout', _OF_THREE, 4 * sizes.MIB),
        # More than the largest discard of the guest, with which Linux would
        # discard nothing.
        ('layout', _LARGE, sizes.GIB),
        ('layout', None, None),
        ('32KiB', _STRIPED, 32768),
        ('32KiB', None, 32768),
    )
    @ddt.unpack
    def test_layout_is_a_whole_object_set(
        self,
        granularity: str,
        image_layout: layout.ImageLayout | None,
        expected: int | None,
    ) -> None:
        self.assertEqual(
            expected, discard.granularity_in_bytes(granularity, image_layout)
        )
