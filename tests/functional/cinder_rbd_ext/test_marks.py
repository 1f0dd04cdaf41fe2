# SPDX-License-Identifier: Apache-2.0

"""New images have the mark of the cloud, and unmanaged ones no longer."""

from typing import Any
import uuid

from oslo_utils import units
import rbd

from rbd_volume_options import ownership
from tests.functional.cinder_rbd_ext import base

_CLOUD = str(uuid.uuid4())


class MarksTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.marking = self.make_driver(rbd_cloud_id=_CLOUD)

    def owner_of(self, volume: Any) -> str:
        with self.cluster.image(volume.name, read_only=True) as image:
            return ownership.owner_of(
                dict(image.metadata_list()),
                self.cluster.ioctx().get_pool_id(),
                image.id(),
            )

    def test_volume_and_its_clone_have_marks_of_their_own(self) -> None:
        source = self.made_volume(driver=self.marking)
        self.assertEqual(_CLOUD, self.owner_of(source))
        clone = self.new_volume(source_volid=source.id)
        self.marking.create_cloned_volume(clone, source)
        self.assertEqual(_CLOUD, self.owner_of(clone))

    def test_clone_by_another_cloud_does_not_inherit_the_mark(self) -> None:
        source = self.made_volume(driver=self.marking)
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.assertEqual('', self.owner_of(clone))

    def test_unmanaged_image_is_released_until_it_is_managed(self) -> None:
        volume = self.made_volume(driver=self.marking)
        self.marking.unmanage(volume)
        self.assertEqual(ownership.RELEASED, self.owner_of(volume))
        again = self.new_volume()
        self.marking.manage_existing(again, {'source-name': volume.name})
        self.assertEqual(_CLOUD, self.owner_of(again))

    def test_image_that_comes_back_to_a_cloud_without_id_is_purged(
        self,
    ) -> None:
        """A clone inherits that the image was given away."""
        driver = self.make_driver(
            enable_deferred_deletion=True, deferred_deletion_delay=0
        )
        released = self.made_volume(driver=driver)
        driver.unmanage(released)
        clone = self.new_volume(source_volid=released.id)
        driver.create_cloned_volume(clone, released)
        released.destroy()
        again = self.new_volume()
        driver.manage_existing(again, {'source-name': released.name})
        for volume in (clone, again):
            self.assertEqual('', self.owner_of(volume))
        for volume in (clone, again):
            self.delete_with_record(volume, driver)
            driver._trash_purge()
        trash = rbd.RBD().trash_list(self.cluster.ioctx())
        self.assertEqual([], [each['name'] for each in trash])

    def test_cloud_without_an_id_releases_its_images_as_well(self) -> None:
        """Cinder's record of it is later that of a deleted volume."""
        volume = self.made_volume()
        self.assertEqual('', self.owner_of(volume))
        self.driver.unmanage(volume)
        self.assertEqual(ownership.RELEASED, self.owner_of(volume))

    def test_volume_without_an_image_can_be_unmanaged(self) -> None:
        volume = self.new_volume()
        self.marking.unmanage(volume)
        rbd.RBD().create(self.cluster.ioctx(), volume.name, units.Mi)
        self.assertEqual('', self.owner_of(volume))
