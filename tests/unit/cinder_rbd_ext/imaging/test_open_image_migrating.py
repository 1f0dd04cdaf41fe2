# SPDX-License-Identifier: Apache-2.0


"""Guards of librbd's calls that can end the process."""

from unittest import mock

from cinder import exception

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.imaging import open_image
from tests.unit import base


class GuardsTest(base.TestCase):
    def image(self, mask: int) -> mock.Mock:
        image = mock.Mock(spec=['features', 'get_name'])
        image.features.return_value = mask
        image.get_name.return_value = 'volume-1'
        return image

    def test_image_in_a_live_migration_is_refused(self) -> None:
        image = self.image(1 << 9 | 1)
        self.assertRaises(
            exception.SnapshotIsBusy, open_image.check_removal, image, 's'
        )
        self.assertIn('rbd migration', self.log.output)
        error = self.assertRaises(
            exceptions.ImageMigrating, open_image.check_snapshot, image
        )
        self.assertIn('volume-1 is in a live migration', str(error))

    def test_other_images_pass(self) -> None:
        image = self.image((1 << 9) - 1)
        open_image.check_removal(image, 's')
        open_image.check_snapshot(image)
