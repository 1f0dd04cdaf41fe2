# SPDX-License-Identifier: Apache-2.0

import collections
from unittest import mock

from cinder import context
from cinder.db import api as db
from cinder.message import message_field
from cinder.tests.unit import utils as cinder_utils
from oslo_utils import fixture as timeutils_fixture

from cinder_rbd_ext import reasons
from cinder_rbd_ext import user_messages
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext import test_record

_Operation = user_messages.Operation


class RefusedTest(test_record.RecordTestCase):
    """Messages in Cinder's database."""

    def _messages(self) -> list[dict[str, str]]:
        return list(db.message_get_all(self.context))

    def _reason(self, request_id: str | None) -> str:
        return reasons.message(self.recorded(), request_id, '')

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

    def _refused_again(self, operation: _Operation, reason: str) -> None:
        later = context.get_admin_context()
        later.project_id = self.volume.project_id
        with mock.patch.object(self.volume, '_context', later):
            user_messages.refused(self.volume, operation, reason)

    def test_repeated_refusal_changes_the_reason_of_its_message(self) -> None:
        """A user who repeats a request does not fill the database."""
        clock = self.useFixture(timeutils_fixture.TimeFixture())
        user_messages.refused(self.volume, _Operation.ATTACHMENT, 'no mode')
        for seconds, reason in ((0, 'not here'), (59, 'nowhere')):
            clock.advance_time_seconds(seconds)
            self._refused_again(_Operation.ATTACHMENT, reason)
            (message,) = self._messages()
            self.assertEqual(
                f'attachment refused: {reason}',
                self._reason(message['request_id']),
            )

    def test_later_and_other_refusals_have_messages_of_their_own(self) -> None:
        clock = self.useFixture(timeutils_fixture.TimeFixture())
        user_messages.refused(self.volume, _Operation.ATTACHMENT, 'no')
        self._refused_again(_Operation.RETYPE, 'no')
        clock.advance_time_seconds(61)
        self._refused_again(_Operation.ATTACHMENT, 'no')
        self.assertEqual(
            {_Operation.ATTACHMENT.event: 2, _Operation.RETYPE.event: 1},
            collections.Counter(each['event_id'] for each in self._messages()),
        )

    def test_other_volumes_and_projects_have_messages_of_their_own(
        self,
    ) -> None:
        user_messages.refused(self.volume, _Operation.ATTACHMENT, 'no')
        other = cinder_utils.create_volume(self.context)
        user_messages.refused(other, _Operation.ATTACHMENT, 'no')
        # As after a transfer.
        self.volume.project_id = 'another'
        user_messages.refused(self.volume, _Operation.ATTACHMENT, 'no')
        self.assertEqual(
            3, len(db.message_get_all(context.get_admin_context()))
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
        self.assertEqual('', self._reason('req-of-another'))
        self.assertEqual('', self._reason(None))
        self.assertEqual('text', reasons.message({}, None, 'text'))

    def test_message_of_cinder_is_not_repeated(self) -> None:
        user_messages.refused(
            self.volume, _Operation.EXTENSION, 'no', told_by_cinder=True
        )
        self.assertEqual([], self._messages())
        self.assertNotEqual('', self._reason(self.context.request_id))

    def test_names_of_pools_are_hidden(self) -> None:
        error = errors.OptionError(keys.DATA_POOL, 'secret', 'no', 'hidden')
        user_messages.refused(self.volume, _Operation.MIGRATION, error)
        self.assertNotIn('secret', self._reason(self.context.request_id) or '')

    def test_reason_is_one_item_with_operation_and_time(self) -> None:
        user_messages.refused(self.volume, _Operation.CREATION, 'no')
        user_messages.refused(self.volume, _Operation.RETYPE, 'never')
        reason = reasons.stored(self.recorded())
        assert reason is not None  # noqa: S101
        self.assertEqual(('retype', 'never'), (reason.operation, reason.text))
        self.assertRegex(reason.at, r'^\d{4}-\d\d-\d\dT.*Z$')
        self.assertEqual(1, len(self.rows()))

    def test_failure_does_not_hide_the_refusal(self) -> None:
        db.volume_destroy(self.admin, self.volume.id)
        user_messages.refused(self.volume, _Operation.RETYPE, 'no')
        self.assertIn('Could not create a message', self.log.output)

    def test_every_operation_has_texts_of_cinder(self) -> None:
        for operation in _Operation:
            self.assertIn(operation.action, message_field.Action.ALL)
            self.assertIn(operation.detail, message_field.Detail.ALL)
