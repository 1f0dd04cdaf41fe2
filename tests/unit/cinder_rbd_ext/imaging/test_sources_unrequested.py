# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import exception
import ddt

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import base

# 1 GiB is not a multiple of 12 MiB.
_THIRDS = {
    'rbd_object_size': '4M',
    'rbd_stripe_unit': '4M',
    'rbd_stripe_count': '3',
}
# What a tenant sets instead, with the keys that the type lets tenants set.
_EIGHTHS = {keys.STRIPE_UNIT: '4M', keys.STRIPE_COUNT: '8'}
_MADE = (22, 4 << 20, 8)
_NO_MAP = {keys.OBJECT_MAP: 'false'}


@ddt.ddt
class CopyTest(base.DriverTestCase):
    """The type alone would be refused for the size of the source."""

    def setUp(self) -> None:
        super().setUp()
        self.type = self.make_type(**_THIRDS)
        self.source = self.made_volume(_EIGHTHS | _NO_MAP, self.type)

    def check(self, copy: Any) -> None:
        self.assertEqual(_MADE, self.layout_of(copy.name))
        copied, source = (
            self.cluster.stored(each.name).mask for each in (copy, self.source)
        )
        self.assertEqual(source, copied)

    def test_temporary_clone_for_a_backup(self) -> None:
        copy = self.driver._create_temp_cloned_volume(
            self.context, self.source
        )
        self.check(copy)

    def test_temporary_volume_from_a_snapshot(self) -> None:
        copy = self.driver._create_temp_volume_from_snapshot(
            self.context, self.source, self.new_snapshot(self.source)
        )
        self.check(copy)

    @ddt.data(True, False)
    def test_data_pool(self, of_type: bool) -> None:
        """It is never inherited."""
        self.driver = self.make_driver(rbd_volume_data_pool='data')
        pool = {'rbd_data_pool': 'volumes2'} if of_type else {}
        self.source.volume_type_id = self.make_type(**_THIRDS, **pool).id
        copy = self.driver._create_temp_cloned_volume(
            self.context, self.source
        )
        expected = self.cluster.pools['volumes2' if of_type else 'data']
        stored = self.cluster.stored(copy.name)
        self.assertEqual(expected.number, stored.data_pool)

    def test_of_a_user(self) -> None:
        copy = self.new_volume(volume_type=self.type)
        self.assertRaises(
            exceptions.VolumeOptionRefused,
            self.driver.create_cloned_volume,
            copy,
            self.source,
        )


class CacheEntryTest(base.DriverTestCase):
    """Cinder clones the first volume from an image into its cache."""

    def setUp(self) -> None:
        super().setUp()
        # It owns the entries.
        project = self.context.project_id
        self.override_config('cinder_internal_tenant_project_id', project)

    def test_entry_has_layout_of_the_type(self) -> None:
        kind = self.make_type(rbd_object_size='1M')
        source = self.made_volume(_NO_MAP, kind)
        entry = self.new_volume(volume_type=kind)
        self.driver.create_cloned_volume(entry, source)
        self.assertEqual(20, self.layout_of(entry.name)[0])
        self.assertEqual(
            self.cluster.stored(source.name).mask,
            self.cluster.stored(entry.name).mask,
        )

    def test_reimage_from_a_snapshot_copies_any_layout(self) -> None:
        """Cinder's internal project owns the temporary volume, too."""
        source = self.made_volume(_EIGHTHS)
        snapshot = self.new_snapshot(source)
        copy = self.driver._create_temp_volume_from_snapshot(
            self.context, source, snapshot
        )
        self.assertEqual(
            self.layout_of(source.name), self.layout_of(copy.name)
        )

    def test_layout_that_a_tenant_requested_fills_no_cache(self) -> None:
        """Cinder logs exceptions of its own classes and continues."""
        for own in (_EIGHTHS, {keys.OBJECT_SIZE: '1M'}):
            source = self.made_volume(own)
            names = self.cluster.names()
            error = self.assertRaises(
                exceptions.ImageNotMade,
                self.driver.create_cloned_volume,
                self.new_volume(),
                source,
            )
            self.assertIsInstance(error, exception.CinderException)
            self.assertIn(source.id, str(error))
            self.assertEqual(names, self.cluster.names())
            self.assertEqual([], self.cluster.stored(source.name).snapshots)


class SizeTest(base.DriverTestCase):
    def test_filling_the_cache(self) -> None:
        """The size of the image is not the requested one."""
        volume = self.new_volume(volume_type=self.make_type(**_THIRDS), size=6)
        self.assertEqual(
            ({}, False),
            self.driver.clone_image(self.context, volume, None, {}, None),
        )
        volume.size = 1
        volume.save()
        self.driver.create_volume(volume)
        self.driver.extend_volume(volume, 6)
        self.assertEqual((22, 4 << 20, 3), self.layout_of(volume.name))
        self.assertEqual(6 * base.GIB, self.cluster.stored(volume.name).size)
