# SPDX-License-Identifier: Apache-2.0

from collections.abc import Mapping
import dataclasses
import json
from unittest import mock

import hypothesis

from cinder_rbd_ext.retype import marker
from rbd_volume_options import wire
from tests.unit import untrusted
from tests.unit.cinder_rbd_ext import base

_LONGEST = marker.Marker(
    'req-6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11',
    '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11',
    # librbd limits ids to 14 characters.
    '12345678901234',
    '12345678901234',
    100,
)


class MarkerTest(base.DriverTestCase):
    def test_longest_marker_fits_into_the_database(self) -> None:
        volume = self.made_volume()
        written = marker.write(volume.id, _LONGEST)
        recorded = self.recorded(volume)
        self.assertLessEqual(len(recorded[wire.RECORD_CONVERSION]), 255)
        self.assertEqual(written, marker.of_volume(volume.id))
        self.assertLess(abs(written.age), 30)

    def test_edited_marker_is_read_or_ignored(self) -> None:
        volume = self.made_volume()
        marker.write(volume.id, _LONGEST)
        recorded = self.recorded(volume)
        items = json.loads(recorded[wire.RECORD_CONVERSION])

        @hypothesis.given(
            untrusted.TEXTS | untrusted.altered(items).map(json.dumps)
        )
        @hypothesis.example(
            json.dumps({**items, wire.MARKER_PERCENT: float('inf')})
        )
        def read(text: str) -> None:
            marker.read({**recorded, wire.RECORD_CONVERSION: text})

        read()

    def test_volumes_with_a_marker_are_found_by_their_back_end(self) -> None:
        volume, other = self.made_volume(), self.made_volume()
        self.update(other, {'host': 'elsewhere@ceph#ceph'})
        self.made_volume()
        for each in (volume, other):
            marker.write(each.id, _LONGEST)
        self.driver.host = volume.host
        self.assertEqual([volume.id], marker.marked_volumes(self.driver))
        marker.forget(volume.id)
        self.assertEqual([], marker.marked_volumes(self.driver))

    def test_marker_of_an_earlier_request_is_void(self) -> None:
        volume = self.made_volume()
        marker.disown(volume.id, _LONGEST.request)
        self.assertIsNone(marker.of_volume(volume.id))
        marker.write(volume.id, _LONGEST)
        marker.disown(volume.id, _LONGEST.request)
        mark = marker.of_volume(volume.id)
        self.assertTrue(mark and mark.is_void)
        self.assertEqual(_LONGEST.request, mark and mark.request)

    def test_marker_of_another_request_is_not_void(self) -> None:
        volume = self.made_volume()
        written = marker.write(volume.id, _LONGEST)
        marker.disown(volume.id, 'req-1')
        self.assertEqual(written, marker.of_volume(volume.id))

    def test_copy_that_is_noted_at_the_same_moment_stays_noted(self) -> None:
        """Nobody would remove it otherwise."""
        volume = self.made_volume()
        copied = marker.Marker('req-1', '', 'image', 'copy', pool='volumes2')
        marker.write(volume.id, dataclasses.replace(copied, copy_id=''))
        real = marker.read

        def read(items: Mapping[str, str]) -> marker.Marker | None:
            noted = real(items)
            if noted and not noted.copy_id:
                marker.write(volume.id, copied)
            return noted

        with mock.patch.object(marker, 'read', read):
            marker.disown(volume.id, 'req-1')
        mark = marker.of_volume(volume.id)
        self.assertEqual(
            ('copy', True), (mark and mark.copy_id, mark and mark.is_void)
        )

    def test_invalid_marker_is_ignored(self) -> None:
        for text in ('', '[]', '{}', json.dumps({wire.MARKER_TYPE: 'a'})):
            self.assertIsNone(marker.read({wire.RECORD_CONVERSION: text}))

    def test_new_retype_forgets_why_the_last_one_failed(self) -> None:
        volume = self.made_volume()
        marker.refuse(volume.id, 'in use')
        self.assertEqual('in use', marker.refusal(self.recorded(volume)))
        marker.begin(volume.id, _LONGEST)
        self.assertIsNone(marker.refusal(self.recorded(volume)))
