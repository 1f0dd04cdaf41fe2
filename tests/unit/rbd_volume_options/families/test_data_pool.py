# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options.families import data_pool
from tests.unit.rbd_volume_options import refusals


@ddt.ddt
class PoolTestCase(refusals.RefusalTestCase):
    @ddt.data('p', 'volumes-data', 'a.b_c-1', '.rgw', '1', 'x' * 128)
    def test_name_of_pool_is_accepted(self, name: str) -> None:
        self.assertEqual(name, data_pool.parse_pool(name))

    @ddt.named_data(
        ['empty', ''],
        ['long', 'x' * 129],
        ['option', '-p'],
        ['space', 'a b'],
        ['newline', 'a\n'],
        ['snapshot', 'a@b'],
        ['namespace', 'a/b'],
        ['other_letters', 'd\xe4ta'],
        ['other_digits', '\u0661'],
        ['shell', 'a;b'],
    )
    def test_no_pool(self, name: str) -> None:
        self.assertRefused(
            lambda: data_pool.parse_pool(name),
            'rbd:data_pool',
            name,
            'not a valid pool name',
            'the name of a pool: up to 128 letters, digits, dots, hyphens '
            'and underscores',
        )
