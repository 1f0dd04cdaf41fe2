# SPDX-License-Identifier: Apache-2.0

import datetime
import time
from unittest import mock

import ddt
import fixtures

from rbd_volume_tools.audit import images
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs


@ddt.ddt
class ReadTest(base.TestCase):
    """A plain image; the functional tests cover other images."""

    @ddt.data('EST5', 'UTC', 'CET-1')
    def test_write_is_no_older_than_it_is_in_any_zone(self, zone: str) -> None:
        """Ceph's binding returns a local time, or one with its zone."""
        self.addCleanup(time.tzset)
        self.useFixture(fixtures.EnvironmentVariable('TZ', zone))
        time.tzset()
        seconds = 1767312000
        aware = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        local = datetime.datetime.fromtimestamp(seconds)
        self.assertEqual(aware, images.latest(aware))
        self.assertGreaterEqual(images.latest(local), aware)
        self.assertGreaterEqual(
            images.latest(aware.replace(tzinfo=None)), aware
        )

    def test_last_write_is_read_of_images_of_glance(self) -> None:
        pool = stubs.Pool(facts.IDENT, 'one')
        modified = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
        for name, expected in ((facts.IDENT, modified), ('one', None)):
            image = images.read(pool, pool, 'images', name, str)
            self.assertEqual(expected, image.modified)

    def test_used_space_with_a_snapshot_deleted_since_is_unknown(self) -> None:
        librbd = mock.Mock(
            ImageNotFound=stubs.ImageNotFound,
            RBD_FEATURE_FAST_DIFF=16,
            RBD_FLAG_FAST_DIFF_INVALID=2,
        )
        image = mock.Mock()
        image.features.return_value = 16
        image.set_snap.side_effect = [stubs.ImageNotFound, None]
        self.assertIsNone(images.used_bytes(librbd, image, ['gone']))
        # The image is not left at a snapshot.
        image.set_snap.assert_called_with(None)
