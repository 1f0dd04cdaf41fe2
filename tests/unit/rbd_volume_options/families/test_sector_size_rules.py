# SPDX-License-Identifier: Apache-2.0

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options.families import sector_size
from tests.unit import base


class SectorSizesTestCase(base.TestCase):
    def test_connection_has_both_block_sizes_as_texts(self) -> None:
        items = {
            size: sector_size.connection_items(size)
            for size in registry.OPTIONS[keys.SECTOR_SIZE].choices
        }
        self.assertEqual(
            {
                '512': {
                    'logical_block_size': '512',
                    'physical_block_size': '512',
                },
                '512e': {
                    'logical_block_size': '512',
                    'physical_block_size': '4096',
                },
                '4096': {
                    'logical_block_size': '4096',
                    'physical_block_size': '4096',
                },
            },
            items,
        )

    def test_only_a_type_that_says_so_boots_from_4096(self) -> None:
        large = {keys.SECTOR_SIZE: '4096'}
        for values in (
            {**large, keys.BOOT_FROM_4096: True},
            {keys.SECTOR_SIZE: '512e'},
            {keys.SECTOR_SIZE: '512'},
            {},
        ):
            sector_size.check_bootable(values)
        for firmware in ({}, {keys.BOOT_FROM_4096: False}):
            error = self.assertRaises(
                errors.OptionError,
                sector_size.check_bootable,
                {**large, **firmware},
            )
            self.assertIn('rbd:boot_from_4096 = true', str(error))
