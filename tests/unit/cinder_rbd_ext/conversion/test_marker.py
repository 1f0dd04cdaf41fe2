#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""The marker of a conversion in the admin metadata."""

from typing import Any
from unittest import mock

from cinder.db import api as db

from cinder_rbd_ext.conversion import marker
from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext import base

_TYPE = '11111111-2222-4333-8444-555555555555'


class MarkerTest(base.DriverTestCase):
    def test_conversion(self) -> None:
        volume = self.new_volume()
        marker.refuse(volume.id, 'in use')
        self.assertEqual('in use', marker.refusal(self.recorded(volume)))
        found = marker.Marker(_TYPE, '10a')
        marker.begin(volume.id, found)
        self.assertIsNone(marker.refusal(self.recorded(volume)))
        marker.progress(volume.id, found, 42)
        text = self.recorded(volume)[wire.RECORD_CONVERSION]
        self.assertLessEqual(len(text), 255)
        read: Any = marker.read(self.recorded(volume))
        self.assertEqual(
            (_TYPE, '10a', 42), (read.type_id, read.source_id, read.percent)
        )
        self.assertRegex(read.at, r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$')
        marker.forget(volume.id)
        self.assertIsNone(marker.read(self.recorded(volume)))

    def test_invalid(self) -> None:
        for text in ('', '{', '{}', '[]', '{"type": 1, "source": 2}'):
            self.assertIsNone(marker.read({wire.RECORD_CONVERSION: text}))

    def test_failing_database(self) -> None:
        volume = self.new_volume()
        with mock.patch.object(
            db,
            'volume_admin_metadata_update',
            autospec=True,
            side_effect=ValueError,
        ):
            marker.progress(volume.id, marker.Marker(_TYPE, '1'), 1)
            marker.refuse(volume.id, 'x')
        self.assertIn('Could not record the progress', self.log.output)
        self.assertIn('Could not record why', self.log.output)
