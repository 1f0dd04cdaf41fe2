# SPDX-License-Identifier: Apache-2.0
"""Unit tests of cinder_rbd_ext.user_messages."""

from unittest import mock

from cinder.db import api as db
from cinder.message import message_field

from cinder_rbd_ext import user_messages
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import test_record

_Operation = user_messages.Operation


class RefusedTest(test_record.RecordTestCase):
    """Messages in Cinder's database."""

    def _messages(self) -> list[dict[str, str]]:
        return list(db.message_get_all(self.context))

    def _reason(self, request_id: str | None) -> str | None:
        return user_messages.reason_of(self.recorded(), request_id)

    def test_message_names_volume_action_and_request(self) -> None:
        user_messages.refused(self.volume, _Operation.ATTACHMENT, 'no mode')
        (message,) = self._messages()
        self.assertEqual(
            (self.volume.id, 'VOLUME', 'VOLUME_VOLUME_004_021', 'ERROR'),
            tuple(
                message[name]
                for name in (
                    'resource_uuid',
                    'resource_type',
                    'event_id',
                    'message_level',
                )
            ),
        )
        self.assertEqual(self.context.request_id, message['request_id'])
        self.assertEqual(
            'attachment refused: no mode', self._reason(message['request_id'])
        )

    def test_project_of_volume_is_told_of_requests_of_others(self) -> None:
        other = self.context.elevated()
        other.project_id = 'of-an-administrator'
        with mock.patch.object(self.volume, '_context', other):
            user_messages.refused(self.volume, _Operation.RETYPE, 'no')
        (message,) = self._messages()
        self.assertEqual(self.volume.project_id, message['project_id'])

    def test_reason_belongs_to_one_request_only(self) -> None:
        user_messages.refused(self.volume, _Operation.RETYPE, 'no')
        self.assertIsNone(self._reason('req-of-another'))
        self.assertIsNone(self._reason(None))
        self.assertIsNone(user_messages.reason_of({}, None))

    def test_message_of_cinder_is_not_repeated(self) -> None:
        user_messages.refused(
            self.volume, _Operation.EXTENSION, 'no', told_by_cinder=True
        )
        self.assertEqual([], self._messages())
        self.assertIsNotNone(self._reason(self.context.request_id))

    def test_names_of_pools_are_hidden(self) -> None:
        error = errors.OptionError(keys.DATA_POOL, 'secret', 'no', 'hidden')
        user_messages.refused(self.volume, _Operation.MIGRATION, error)
        self.assertNotIn('secret', self._reason(self.context.request_id) or '')

    def test_long_reason_is_shortened(self) -> None:
        user_messages.refused(self.volume, _Operation.RETYPE, 'x' * 300)
        reason = self._reason(self.context.request_id) or ''
        self.assertEqual(255, len(reason))
        self.assertTrue(reason.endswith('...'))

    def test_failure_does_not_hide_the_refusal(self) -> None:
        db.volume_destroy(self.admin, self.volume.id)
        user_messages.refused(self.volume, _Operation.RETYPE, 'no')
        self.assertIn('Could not create a message', self.log.output)

    def test_every_operation_has_texts_of_cinder(self) -> None:
        for operation in _Operation:
            self.assertIn(operation.action, message_field.Action.ALL)
            self.assertIn(operation.detail, message_field.Detail.ALL)
