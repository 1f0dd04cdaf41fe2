# SPDX-License-Identifier: Apache-2.0

from cinder import exception
from cinder.db import api as db

from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.api import attributes
from cinder_rbd_ext.attach import requester
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import test_record


class AttachRefusedTest(test_record.RecordTestCase):
    def _tell(self, reason: str) -> None:
        error = errors.OptionError(keys.CACHE_MODE, 'none', reason, 'another')
        user_messages.refused(
            requester.current(self.volume),
            user_messages.Operation.ATTACHMENT,
            error,
        )

    def _refusal(self) -> str:
        volume = record.stored_volume(self.volume.id)
        refusal = attributes.of_volume(volume)[
            image_record.ATTRIBUTE_ATTACH_REFUSED
        ]
        return refusal['reason'] if refusal else ''

    def test_last_reason_is_recorded_until_forgotten(self) -> None:
        for reason in ('the reason', 'a later one'):
            self._tell(reason)
            self.assertIn(reason, self._refusal())
        record.forget_reason(self.volume.id, 'attachment')
        self.assertEqual({}, self.recorded())

    def test_refusal_is_told_with_a_user_message(self) -> None:
        self._tell('the reason')
        (message,) = db.message_get_all(self.context)
        self.assertEqual(self.volume.id, message['resource_uuid'])

    def test_volume_that_a_server_has_stays_unmarked(self) -> None:
        """As after a refused live migration."""
        values = {
            'volume_id': self.volume.id,
            'instance_uuid': '11111111-2222-4333-8444-555555555555',
            'attach_status': 'attached',
        }
        attachment = db.volume_attach(self.admin, values)
        self._tell('the reason')
        self.assertEqual('', self._refusal())
        self.assertEqual(1, len(db.message_get_all(self.context)))
        db.volume_attachment_update(
            self.admin, attachment['id'], {'attach_status': 'reserved'}
        )
        self._tell('the reason')
        self.assertIn('the reason', self._refusal())

    def test_never_refused(self) -> None:
        self.assertIsNone(reasons.stored({}, 'attachment'))
        self.assertIsNone(
            reasons.stored({'rbd:reason': 'edited'}, 'attachment')
        )

    def test_no_part_of_what_the_image_passes_on(self) -> None:
        self._tell('the reason')
        self.assertRaises(
            exception.GlanceMetadataNotFound,
            db.volume_glance_metadata_get,
            self.admin,
            self.volume.id,
        )

    def test_failure_of_the_database_is_only_logged(self) -> None:
        self.patch(
            'cinder_rbd_ext.record.change',
            side_effect=RuntimeError('down'),
        )
        self._tell('the reason')
        self.assertIn('down', self.log.output)
