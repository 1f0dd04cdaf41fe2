# SPDX-License-Identifier: Apache-2.0

"""Open images and trashed snapshots that the stock driver leaves."""

import gc

from cinder import objects
import fixtures

from cinder_rbd_ext import exceptions
from tests import runs
from tests.functional.cinder_rbd_ext import base


@runs.tags(runs.DEBIAN)
class LeftOpenTest(base.DriverTestCase):
    """A clone that fails does not block the service."""

    def test_source_that_takes_no_more_snapshots(self) -> None:
        # The timeout is not gentle: librbd would wait forever, and Python
        # would not run its signal handlers.
        self.useFixture(fixtures.Timeout(60, gentle=False))
        source = self.made_volume()
        with self.cluster.image(source.name) as image:
            image.create_snap('only one')
            image.set_snap_limit(1)
        error = self.assertRaises(
            exceptions.ImageNotMade,
            self.driver.create_cloned_volume,
            self.new_volume(),
            source,
        )
        # Release the source's image, which the traceback refers to.
        del error
        gc.collect()
        self.assertEqual([source.name], self.cluster.names())


@runs.tags(runs.DEBIAN)
class TrashedTest(base.DriverTestCase):
    """Tests with a snapshot that was deleted while it had a clone."""

    def test_retype_to_an_object_map(self) -> None:
        driver = self.make_driver(rbd_volume_object_map='false')
        source = self.made_volume(driver=driver)
        snapshot = self.new_snapshot(source, driver)
        clone = self.new_volume()
        driver.create_volume_from_snapshot(clone, snapshot)
        driver.delete_snapshot(snapshot)
        new_type = objects.VolumeType.get_by_id(
            self.admin, self.make_type(rbd_object_map='true')
        )
        with self.retyping(source):
            moved, _ = driver.retype(self.context, source, new_type, {}, None)
        self.assertTrue(moved)
        self.assertIn('object-map', self.features_of(source))
        self.assertEqual(0, self.flags_of(source))
