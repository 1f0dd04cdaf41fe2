# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from cinder import exception
from cinder.message import api as message_api
from cinder.message import message_field
from oslo_utils import fixture as timeutils_fixture

from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from tests.unit.cinder_rbd_ext.api import base

_STOCK = 'update attachment:Failed to attach volume.'
_WITH_REASON = f'{_STOCK} attachment refused: no mode'


class MessagesTest(base.ApiTestCase):
    """The texts of user messages in responses."""

    def setUp(self) -> None:
        super().setUp()
        self.refused_volume = self.volume()
        user_messages.refused(
            self.refused_volume, user_messages.Operation.ATTACHMENT, 'no mode'
        )

    def texts(self, app: Any = None) -> list[str]:
        """Return the texts of all messages of a project, sorted."""
        messages = self.ok('GET', '/messages', app=app)['messages']
        return sorted(each['user_message'] for each in messages)

    def test_list_and_show_have_the_reason(self) -> None:
        (message,) = self.ok('GET', '/messages')['messages']
        self.assertEqual(_WITH_REASON, message['user_message'])
        shown = self.ok('GET', f'/messages/{message["id"]}')['message']
        self.assertEqual(_WITH_REASON, shown['user_message'])

    def test_reasons_of_other_projects_stay_hidden(self) -> None:
        """Cinder lists the messages of all projects."""
        self.assertNotIn(_WITH_REASON, self.texts(self.stranger))
        self.assertEqual([_WITH_REASON], self.texts(self.admin))

    def test_earlier_message_has_the_text_of_cinder(self) -> None:
        clock = self.useFixture(timeutils_fixture.TimeFixture())
        clock.advance_time_seconds(61)
        with mock.patch.object(
            self.refused_volume, '_context', self.admin_context
        ):
            user_messages.refused(
                self.refused_volume,
                user_messages.Operation.ATTACHMENT,
                'another',
            )
        self.assertEqual(
            [_STOCK, f'{_STOCK} attachment refused: another'], self.texts()
        )

    def test_deleted_volume_leaves_the_text_of_cinder(self) -> None:
        self.refused_volume.destroy()
        self.assertEqual([_STOCK], self.texts())

    def test_failure_leaves_the_text_of_cinder(self) -> None:
        self.mock_object(
            record,
            'stored_rows',
            autospec=True,
            side_effect=exception.CinderException,
        )
        self.assertEqual([_STOCK], self.texts())

    def test_messages_about_other_things_need_no_query(self) -> None:
        (message,) = self.ok('GET', '/messages')['messages']
        self.ok('DELETE', f'/messages/{message["id"]}')
        message_api.API().create(
            self.refused_volume._context,
            message_field.Action.SNAPSHOT_CREATE,
            message_field.Resource.VOLUME_SNAPSHOT,
            self.refused_volume.id,
        )
        read = self.mock_object(record, 'stored_rows', autospec=True)
        self.assertEqual(
            ['create snapshot:An unknown error occurred.'], self.texts()
        )
        read.assert_not_called()
