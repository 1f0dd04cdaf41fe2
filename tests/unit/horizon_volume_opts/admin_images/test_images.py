# SPDX-License-Identifier: Apache-2.0

"""RBD images from the attributes of volumes, read page by page."""

from typing import Any
from unittest import mock

import ddt
from django.core import cache

from horizon_volume_opts.admin_images import audit
from horizon_volume_opts.admin_images import images
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_MAP = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
_BARE = ['layering']
_KEY = 'rbd_volume_options:test'


class ImagesTestCase(horizon_case.HorizonTestCase):
    def have(
        self, features: list[str] | None = None, **changes: Any
    ) -> dict[str, Any]:
        """Add a volume; without features it has no record."""
        return self.cloud.add_volume(
            f'v{len(self.cloud.volumes)}',
            **{**fake_cloud.recorded(features), **changes},
        )

    def remove(self, start: int, end: int) -> None:
        """Remove volumes by their places in the list."""
        for ident in list(self.cloud.volumes)[start:end]:
            del self.cloud.volumes[ident]

    def read(self, listed: images.Listing | None = None) -> images.Listing:
        listed = listed or images.Listing()
        listed.read(self.request_to('/'))
        return listed


@ddt.ddt
class ReadTestCase(ImagesTestCase):
    def test_what_is_known_of_a_volume(self) -> None:
        plain, striped = (4 << 20, 4 << 20, 1), (1 << 20, 65536, 8)
        self.have(name='one', **fake_cloud.recorded(_MAP, data_pool='ec'))
        self.have(
            name='',
            volume_type=None,
            **fake_cloud.recorded(_BARE, striped),
        )
        listed = self.read()
        self.assertEqual(
            [
                (
                    'v0',
                    'one',
                    1,
                    'rbd',
                    'h@rbd#rbd',
                    'unchecked',
                    plain,
                    'ec',
                ),
                (
                    'v1',
                    'v1',
                    1,
                    '',
                    'h@rbd#rbd',
                    'none',
                    striped,
                    '',
                ),
            ],
            listed.images,
        )
        self.assertTrue(listed.complete)
        self.assertEqual(0, listed.others)

    @ddt.data(
        fake_cloud.recorded(),
        # The API extension is not loaded.
        {},
        # An invalid record must not hide other images.
        fake_cloud.recorded(_MAP, (-4096, 65536, 8)),
    )
    def test_no_record_in_a_pool_of_ceph(self, record: dict[str, Any]) -> None:
        self.have(_MAP)
        volume = self.have()
        for name in fake_cloud.recorded():
            del volume[name]
        volume.update(record)
        states = [each.map_state for each in self.read().images]
        self.assertEqual(['unchecked', 'unknown'], states)

    @ddt.data(
        {'os-vol-host-attr:host': 'h@lvm#lvm'},
        {'os-vol-host-attr:host': None},
        {'status': 'creating'},
        {'status': 'error'},
    )
    def test_no_image_of_rbd(self, fields: dict[str, Any]) -> None:
        self.have(**fields)
        listed = self.read()
        self.assertEqual([], listed.images)
        self.assertEqual(1, listed.others)

    def test_a_record_counts_though_the_pool_is_not_reported(self) -> None:
        self.cloud.pools.clear()
        self.have(_MAP)
        self.assertEqual(1, len(self.read().images))

    def test_a_migrated_volume_has_the_state_of_its_image(self) -> None:
        self.have(_MAP)['os-vol-mig-status-attr:name_id'] = 'an-image'
        report = audit.Report(
            states={'volume-an-image': audit.MapState.INVALID}
        )
        with mock.patch.object(
            audit, 'read', autospec=True, return_value=report
        ):
            (image,) = self.read().images
        self.assertEqual('invalid', image.map_state)


class PagesTestCase(ImagesTestCase):
    def setUp(self) -> None:
        super().setUp()
        for name, value in (('_PAGE', 10), ('BUDGET', -1)):
            patch = mock.patch.object(images, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        for _ in range(25):
            self.have(_MAP)

    def test_a_last_page_that_is_full(self) -> None:
        self.remove(20, 25)
        with mock.patch.object(images, 'BUDGET', 60):
            listed = self.read()
        self.assertEqual(20, len(listed.images))
        self.assertTrue(listed.complete)

    def test_goes_on_after_a_volume_that_was_deleted(self) -> None:
        listed = self.read()
        # The last two volumes that were read.
        self.remove(8, 10)
        listed = self.read(listed)
        self.assertEqual(20, len(listed.images))
        # The whole last page, so that reading resumes after an older volume.
        self.remove(8, 18)
        listed = self.read(listed)
        self.assertEqual(25, len(listed.images))
        self.assertTrue(listed.complete)


class CacheTestCase(ImagesTestCase):
    def setUp(self) -> None:
        super().setUp()
        for _ in range(50):
            self.have(_MAP)
        self.have()['os-vol-host-attr:host'] = 'h@lvm#lvm'
        self.listed = self.read()

    def test_list_is_kept_in_parts(self) -> None:
        with mock.patch.object(images, '_PART', 100):
            images.store(_KEY, self.listed)
        names = cache.cache.get(_KEY)
        self.assertGreater(len(names), 1)
        for name in names:
            self.assertLessEqual(len(cache.cache.get(name)), 100)
        loaded = images.load(_KEY) or images.Listing()
        self.assertEqual(1, loaded.others)
        self.assertEqual(
            [(*each[:6], list(each[6]), each[7]) for each in loaded.images],
            [
                (*each[:6], list(each[6]), each[7])
                for each in self.listed.images
            ],
        )

    def test_a_part_that_is_gone_or_of_another_list(self) -> None:
        for part in (None, b'another'):
            images.store(_KEY, self.listed)
            (name,) = cache.cache.get(_KEY)
            cache.cache.set(name, part)
            if part is None:
                cache.cache.delete(name)
            self.assertIsNone(images.load(_KEY))
