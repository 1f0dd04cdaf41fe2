# SPDX-License-Identifier: Apache-2.0

"""Test the parsed settings of a store."""

import math
import types
from typing import Any

import ddt
import hypothesis
from hypothesis import strategies

from glance_store_objmap import settings
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import option_values
from tests.unit import base
from tests.unit import untrusted

MIB = 1 << 20
BASE = options.image_values(
    layout.ImageLayout(8 * MIB), frozenset({'layering', 'exclusive-lock'})
)


def read(**options: Any) -> settings.StoreSettings:
    """Return the settings of a section with these options."""
    values: dict[str, Any] = {
        'rbd_store_object_size': None,
        'rbd_store_stripe_unit': None,
        'rbd_store_stripe_count': None,
        'rbd_store_object_map': None,
        'rbd_store_features': None,
        'rbd_store_chunk_size': 8,
        'rbd_store_write_depth': 4,
        'rbd_store_upload_memory': 256,
        'rbd_store_read_depth': 4,
        'rbd_thin_provisioning': False,
        'rbd_cloud_id': None,
        **options,
    }
    return settings.StoreSettings.read(types.SimpleNamespace(**values))


@ddt.ddt
class SettingsTest(base.TestCase):
    def test_nothing_asked(self) -> None:
        self.assertEqual(option_values.planned(), read().plan(BASE, MIB))

    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from(
                [f'rbd_store_{x}' for x in ('object_size', 'stripe_unit')]
                + [f'rbd_store_{x}' for x in ('stripe_count', 'features')]
                + ['rbd_store_object_map']
            ),
            untrusted.TEXTS,
        )
    )
    def test_any_options_are_settings_or_refused(
        self, options: dict[str, str]
    ) -> None:
        try:
            read(**options)
        except errors.OptionError as error:
            self.assertTrue(str(error).isprintable())
            self.assertTrue(error.key.startswith('rbd_store_'))

    def test_object_map(self) -> None:
        how = read(rbd_store_object_map='true').plan(BASE, MIB)
        self.assertFalse(how.has_layout)
        self.assertEqual(
            {'layering', 'exclusive-lock', 'object-map', 'fast-diff'},
            how.image_features,
        )

    def test_layout_is_read_without_whole_stripes(self) -> None:
        parsed = read(
            rbd_store_object_size='4M',
            rbd_store_stripe_unit='64K',
            rbd_store_stripe_count='200',
        )
        # Whole stripes are not required: a Glance image may have any size.
        self.assertEqual(
            layout.ImageLayout(4 * MIB, layout.Striping(65536, 200)),
            parsed.plan(BASE, 12345).layout,
        )

    @ddt.data((1, MIB, MIB), (8, 4 * MIB, 4 * MIB), (32, 4 * MIB, 4 * MIB))
    @ddt.unpack
    def test_pieces_follow_the_chunk_size(
        self, chunk: int, piece: int, read_piece: int
    ) -> None:
        parsed = read(rbd_store_chunk_size=chunk)
        self.assertEqual(piece, parsed.piece)
        self.assertEqual(read_piece, parsed.read_piece)
        self.assertEqual(chunk * MIB, parsed.chunk_size)

    @ddt.data((3, 2), (6, 4), (7, 4), (33, 32), (63, 32))
    @ddt.unpack
    def test_chunk_size_of_the_stock_store(
        self, chunk: int, mebibytes: int
    ) -> None:
        store = read(rbd_store_chunk_size=chunk)
        self.assertEqual(mebibytes * MIB, store.chunk_size)
        self.assertEqual(1 << int(math.log(chunk * MIB, 2)), store.chunk_size)

    @ddt.data(
        ({'rbd_store_stripe_unit': '64K'}, 'rbd_store_stripe_unit'),
        ({'rbd_store_stripe_count': '2'}, 'rbd_store_stripe_count'),
        (
            {
                'rbd_store_stripe_unit': '16M',
                'rbd_store_stripe_count': '2',
            },
            'rbd_store_stripe_unit',
        ),
        (
            {
                'rbd_store_features': 'layering',
                'rbd_store_object_map': 'true',
            },
            'rbd_store_object_map',
        ),
    )
    @ddt.unpack
    def test_invalid_options_are_named(
        self, options: dict[str, Any], option: str
    ) -> None:
        error = self.assertRaises(errors.OptionError, read, **options)
        self.assertEqual(option, error.key)
        self.assertNotIn('rbd:', str(error))

    def test_too_many_objects(self) -> None:
        store = read(rbd_store_object_size='4K', rbd_store_object_map='true')
        error = self.assertRaises(
            errors.OptionError, store.plan, BASE, 2 << 40
        )
        self.assertIn('rbd_store_object_size', error.allowed)
