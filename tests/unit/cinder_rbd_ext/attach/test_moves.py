# SPDX-License-Identifier: Apache-2.0

import datetime
from typing import Any

from cinder import context as cinder_context
from cinder import objects
from cinder.db import api as db
from oslo_utils import timeutils

from cinder_rbd_ext.attach import moves
from cinder_rbd_ext.attach import requester
from rbd_volume_options import agreement
from tests.unit.cinder_rbd_ext import base

_SERVER = '11111111-2222-4333-8444-555555555555'
_OTHER_SERVER = '22222222-2222-4333-8444-555555555555'
_INFO = {'name': 'image', 'cache_mode': 'writeback'}


class MovesTest(base.DriverTestCase):
    """Cinder's records of attachments, as Nova's operations leave them."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume({})

    def add(
        self,
        status: str = 'reserved',
        info: Any = None,
        server: str | None = _SERVER,
    ) -> Any:
        """Create an attachment."""
        attachment = objects.VolumeAttachment(
            self.context,
            volume_id=self.volume.id,
            attach_status=status,
            instance_uuid=server,
        )
        attachment.create()
        attachment.connection_info = info
        attachment.save()
        return attachment

    def delete(self, attachment: Any) -> None:
        """Delete an attachment as the volume service does."""
        admin = cinder_context.get_admin_context()
        db.volume_detached(admin, self.volume.id, attachment.id)

    def move(self) -> agreement.Move | None:
        """Return the move of the waiting attachment."""
        return moves.of_waiting(requester.current(self.volume))

    def check_move(self, info: Any = None) -> None:
        """Check that the waiting attachment is a move."""
        self.assertEqual(info or {}, self.move())

    def test_first_attachment_is_no_move(self) -> None:
        self.add()
        self.assertIsNone(self.move())

    def test_attempts_that_were_never_connected_are_no_moves(self) -> None:
        for status in ('reserved', 'error_attaching', 'attaching'):
            self.delete(self.add(status))
        self.add()
        self.assertIsNone(self.move())

    def test_live_migration_has_the_old_attachment(self) -> None:
        self.add('attached', _INFO)
        self.add()
        self.check_move(_INFO)

    def test_cold_migration_has_deleted_the_old_attachment(self) -> None:
        self.delete(self.add('attached', _INFO))
        self.add()
        self.check_move(_INFO)

    def test_failed_attempts_do_not_hide_the_old_attachment(self) -> None:
        self.delete(self.add('attached', _INFO))
        for _ in range(5):
            self.delete(self.add())
        self.add()
        self.check_move(_INFO)

    def test_attachment_of_another_server_does_not_count(self) -> None:
        self.delete(self.add('attached', _INFO, _OTHER_SERVER))
        self.add()
        self.assertIsNone(self.move())

    def test_attached_while_the_server_was_offloaded(self) -> None:
        self.add('attached')
        self.check_move()

    def test_shelved_for_months_with_a_purged_database(self) -> None:
        attachment = self.add()
        attachment.created_at = timeutils.utcnow() - datetime.timedelta(
            days=1, minutes=1
        )
        attachment.save()
        admin = cinder_context.get_admin_context()
        db.volume_attachment_update(
            admin, attachment.id, {'created_at': attachment.created_at}
        )
        self.check_move()

    def test_target_of_a_migration(self) -> None:
        self.volume.migration_status = f'target:{self.volume.id}'
        self.volume.save()
        self.add()
        self.check_move()

    def test_attachment_is_no_move_of_itself(self) -> None:
        attachment = self.add('attached', _INFO)
        current = requester.current(self.volume)
        self.assertIsNone(moves.of_server(current, _SERVER, attachment.id))
        self.assertIsNotNone(moves.of_server(current, _SERVER))

    def test_client_without_a_server_moves_nothing(self) -> None:
        self.add('attached', _INFO)
        current = requester.current(self.volume)
        self.assertIsNone(moves.of_server(current, None))
