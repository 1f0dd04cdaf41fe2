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

from unittest import mock

from cinder import exception
from cinder.db import api as db

from cinder_rbd_ext import record
from cinder_rbd_ext.attach import refused_attachment
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit.cinder_rbd_ext import test_record

_PLAIN = plan.ImageState(
    layout.ImageLayout(4 << 20), frozenset({'layering', 'exclusive-lock'})
)
_PLAIN_RECORDED = {
    keys.OBJECT_SIZE: '4194304',
    keys.STRIPE_UNIT: '4194304',
    keys.STRIPE_COUNT: '1',
    keys.FEATURES: 'exclusive-lock,layering',
}


class AttachRefusedTest(test_record.RecordTestCase):
    def test_recorded_and_forgotten(self) -> None:
        record.made(self.volume.id, _PLAIN)
        for reason in ('the reason', 'a later one'):
            refused_attachment.record_reason(self.volume.id, reason)
            found = refused_attachment.of_volume(self.recorded())
            self.assertEqual(reason, found.reason if found else None)
        refused_attachment.forget(self.volume.id)
        self.assertEqual(_PLAIN_RECORDED, self.recorded())

    def test_never_refused(self) -> None:
        self.assertIsNone(refused_attachment.of_volume({}))
        self.assertIsNone(
            refused_attachment.of_volume({'rbd:attach_refused': 'edited'})
        )

    def test_no_part_of_what_the_image_passes_on(self) -> None:
        refused_attachment.record_reason(self.volume.id, 'the reason')
        self.assertRaises(
            exception.GlanceMetadataNotFound,
            db.volume_glance_metadata_get,
            self.admin,
            self.volume.id,
        )

    def test_database_that_is_down(self) -> None:
        """A database failure is logged and not raised."""
        for name, call in (
            ('volume_admin_metadata_update', refused_attachment.record_reason),
            ('volume_admin_metadata_delete', refused_attachment.forget),
        ):
            arguments = [self.volume.id, 'the reason']
            if call is refused_attachment.forget:
                arguments.pop()
            with mock.patch.object(
                db, name, autospec=True, side_effect=RuntimeError('down')
            ):
                call(*arguments)
            self.assertIn('down', self.log.output)
