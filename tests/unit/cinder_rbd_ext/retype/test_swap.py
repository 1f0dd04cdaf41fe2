# SPDX-License-Identifier: Apache-2.0

"""Renames on a fake cluster; interrupted ones need real Ceph."""

from typing import Any

from cinder import exception
import ddt

from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from tests.unit.cinder_rbd_ext import base


@ddt.ddt
class SwapTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        name = self.made_volume().name
        self.source_id = swap.image_id(self.driver, name)
        mark = marker.Marker('req-1', 'type', self.source_id)
        self.images = swap.Images(self.driver, name, mark)
        with self.driver.images.opened(name) as image:
            self._run(lambda ioctx: image.copy(ioctx, self.images.copy_name))
        self.copy_id = swap.image_id(self.driver, self.images.copy_name)

    def _run(self, function: Any) -> Any:
        return swap.run(self.driver, function)

    def _named(self) -> list[str | None]:
        """Return the ids of the image, the copy and the kept source."""
        names = (
            self.images.name,
            self.images.copy_name,
            self.images.kept_name,
        )
        return [
            self._run(lambda ioctx, name=name: swap.id_of(ioctx, name))
            for name in names
        ]

    @ddt.data(0, 1, 2)
    def test_swap_that_has_begun_is_completed(self, renames: int) -> None:
        images = self.images
        steps = (
            (images.name, images.kept_name, self.source_id),
            (images.copy_name, images.name, self.copy_id),
        )
        for step in steps[:renames]:
            self._run(lambda ioctx, step=step: images.rename(ioctx, *step))
        has_begun = images.complete_swap(self.copy_id)
        self.assertEqual(bool(renames), has_begun)
        self.assertEqual(
            [self.copy_id, None, self.source_id]
            if renames
            else [self.source_id, self.copy_id, None],
            self._named(),
        )

    def test_copy_that_is_not_verified_does_not_replace_an_image(self) -> None:
        self.assertFalse(self.images.complete_swap(''))
        self.assertEqual([self.source_id, self.copy_id, None], self._named())

    @ddt.data('complete_swap', 'swap')
    def test_image_gets_its_name_back_if_the_copy_is_lost(
        self, method: str
    ) -> None:
        self.images.swap(self.copy_id)
        self.images.swap_back(self.copy_id)
        self._run(
            lambda ioctx: self.images.rename(
                ioctx,
                self.images.name,
                self.images.kept_name,
                self.source_id,
            )
        )
        if method == 'swap':
            self.assertRaises(swap.CopyFailed, self.images.swap, 'lost')
        else:
            self.assertFalse(self.images.complete_swap('lost'))
        self.assertEqual([self.source_id, self.copy_id, None], self._named())

    def test_image_that_does_not_exist_has_no_id(self) -> None:
        self.assertRaises(
            exception.VolumeBackendAPIException,
            swap.image_id,
            self.driver,
            'elsewhere',
        )
