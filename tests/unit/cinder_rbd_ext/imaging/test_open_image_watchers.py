# SPDX-License-Identifier: Apache-2.0

"""Test the list of images that can be managed."""

from typing import Any

from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base


class ManageableTest(base.DriverTestCase):
    """Tests for the list of images of a back end's pool."""

    def _create(self, name: str) -> None:
        with self.cluster.connected() as ioctx:
            self.librbd.RBD().create(ioctx, name, base.GIB)

    def _listed(self, *managed: Any) -> dict[str, str | None]:
        """Return why each image cannot be managed, or None."""
        volumes = self.driver.get_manageable_volumes(
            [{'id': each.id, 'name_id': each.name_id} for each in managed],
            None,
            1000,
            0,
            ['reference'],
            ['asc'],
        )
        return {
            each['reference']['source-name']: each['reason_not_safe']
            for each in volumes
        }

    def test_watchers_of_the_open_image(self) -> None:
        """No program runs."""
        for name in ('free', 'used', 'kept.deleted'):
            self._create(name)
        volume = self.made_volume()
        before = len(self.commands.ran)
        with (
            self.cluster.connected() as ioctx,
            self.librbd.Image(ioctx, 'used'),
        ):
            listed = self._listed(volume)
        self.assertEqual(
            {
                'free': None,
                'used': 'volume in use',
                'kept.deleted': 'volume marked as deleted',
                volume.name: 'already managed',
            },
            listed,
        )
        self.assertEqual([], self.commands.ran[before:])

    def test_image_that_librbd_cannot_read(self) -> None:
        """It is omitted; the stock list fails with the program."""
        self._create('free')
        self._create('removed')
        self.cluster.fail(
            'Image.watchers_list', fake_images.ImageNotFound('removed')
        )
        self.assertEqual(1, len(self._listed()))
