# SPDX-License-Identifier: Apache-2.0

"""Test the cached list of RBD images."""

from django.core import cache

from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing
from tests.unit import base

_KEY = 'rbd_volume_options:test'


def _listing(number: int) -> listing.Listing:
    listed = listing.Listing('2026-01-02T03:04:05+00:00', projects={'p': 'P'})
    listed.add(
        (
            f'id-{n}',
            None
            if n % 10 == 0
            else images.Image(
                'h@b#p', 'gold', images.MapState.NONE, ident=f'id-{n}'
            ),
        )
        for n in range(number)
    )
    listed.markers = ['id-1']
    listed.other_findings = [
        {'kind': 'k', 'image': f'{n}'} for n in range(1500)
    ]
    return listed


class ListingTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        cache.cache.clear()
        self.addCleanup(cache.cache.clear)

    def test_through_the_cache(self) -> None:
        before = _listing(2500)
        listing.store(_KEY, before)
        self.assertEqual(before, listing.load(_KEY))
        self.assertEqual(250, before.others)
        self.assertEqual(2250, len(before.rbd_images))

    def test_no_value_is_larger_than_memcached_takes(self) -> None:
        listing.store(_KEY, _listing(10000))
        for name in (
            _KEY,
            *(f'{_KEY}:rows:0', f'{_KEY}:rows:9000', f'{_KEY}:findings:1000'),
        ):
            self.assertLess(len(cache.cache.get(name)), 1 << 19)

    def test_a_part_that_is_gone(self) -> None:
        listing.store(_KEY, _listing(1500))
        cache.cache.delete(f'{_KEY}:rows:1000')
        self.assertIsNone(listing.load(_KEY))

    def test_forgotten_listing_is_not_loaded(self) -> None:
        listing.store(_KEY, _listing(1))
        listing.forget(_KEY)
        self.assertIsNone(listing.load(_KEY))

    def test_a_volume_that_is_read_twice(self) -> None:
        listed = _listing(5)
        listed.add(list(_listing(3).rows.items()))
        self.assertEqual(5, len(listed.rows))
