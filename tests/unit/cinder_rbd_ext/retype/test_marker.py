# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

from cinder import exception
import hypothesis

from cinder_rbd_ext.retype import marker
from rbd_volume_options import image_record
from tests.unit import untrusted
from tests.unit.cinder_rbd_ext import base

_ID = '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11'
_LONGEST = marker.Marker(
    image=_ID,
    host='h' * 200,
    type_id=_ID,
    former=_ID,
    # librbd limits ids to 14 characters.
    former_id='12345678901234',
    image_id='12345678901234',
    former_pool='p' * 60,
    pool='p' * 60,
    left='l' * 200,
    percent=100,
)


class MarkerTest(base.DriverTestCase):
    def test_longest_marker_fits_into_the_database(self) -> None:
        volume = self.made_volume()
        written = marker.write(volume.id, _LONGEST)
        for value in self.recorded(volume).values():
            self.assertLessEqual(len(value), 255)
        self.assertEqual(written, marker.of_volume(volume.id))

    def test_request_that_has_ended_leaves_the_marker_of_a_later_one(
        self,
    ) -> None:
        volume = self.made_volume()
        later = marker.write(volume.id, _LONGEST)
        ended = dataclasses.replace(_LONGEST, image='another')
        marker.forget(volume.id, ended)
        self.assertRaises(
            exception.VolumeBackendAPIException,
            *(marker.write, volume.id, ended),
        )
        self.assertEqual(later, marker.of_volume(volume.id))

    def test_edited_marker_is_read_or_ignored(self) -> None:
        items = dataclasses.asdict(_LONGEST)

        @hypothesis.given(
            untrusted.TEXTS | untrusted.altered(items).map(json.dumps)
        )
        def read(text: str) -> None:
            marker.read({image_record.RECORD_CONVERSION: text})

        read()

    def test_volumes_with_a_marker_are_found_by_their_back_end(self) -> None:
        volume, other = self.made_volume(), self.made_volume()
        self.update(other, {'host': 'elsewhere@ceph#ceph'})
        self.made_volume()
        retype = dataclasses.replace(_LONGEST, left='')
        for each in (volume, other):
            marker.write(each.id, retype)
        self.driver.host = volume.host
        self.assertEqual([volume.id], marker.marked_volumes(self.driver))
        marker.forget(volume.id, retype)
        self.assertEqual([], marker.marked_volumes(self.driver))
