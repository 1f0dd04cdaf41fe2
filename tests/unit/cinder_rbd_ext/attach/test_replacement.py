# SPDX-License-Identifier: Apache-2.0

import datetime
from typing import Any
from unittest import mock

from cinder import context
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
import ddt
from oslo_utils import fixture as timeutils_fixture
import sqlalchemy
from sqlalchemy import event

from cinder_rbd_ext.attach import replacement
from rbd_volume_options import agreement
from rbd_volume_options import cache_modes

_SERVER = '11111111-2222-4333-8444-555555555555'
_OTHER = '22222222-2222-4333-8444-555555555555'


@ddt.ddt
class OfServerTest(test.TestCase):
    """Tests with attachments that Nova leaves when it moves a server."""

    def setUp(self) -> None:
        super().setUp()
        self.admin = context.get_admin_context()
        self.volume: Any = cinder_utils.create_volume(self.admin)

    def attachment(
        self, mode: Any = 'writeback', server: str = _SERVER, **values: Any
    ) -> Any:
        """Create an attachment with a connection."""
        made = objects.VolumeAttachment(
            self.admin,
            volume_id=self.volume.id,
            attach_status='attached',
            instance_uuid=server,
        )
        made.create()
        made.connection_info = {'cache_mode': mode, 'name': 'image'}
        made.update(values)
        made.save()
        return made

    def detach(self, attachment: Any) -> None:
        """Delete an attachment, as the volume service does."""
        db.volume_detached(self.admin, self.volume.id, attachment.id)

    def mode(self, minutes: int | None = None) -> Any:
        """Return the cache mode of the replaced attachment, or 'nothing'.

        :param minutes: minutes from now to the new attachment's reservation
        """
        since = None
        if minutes is not None:
            now = datetime.datetime.now(datetime.timezone.utc)
            since = now + datetime.timedelta(minutes=minutes)
        replaced = replacement.of_server(self.volume.id, _SERVER, since)
        return replaced.mode if replaced else 'nothing'

    @ddt.data(None, -1, 1)
    def test_one_that_is_there(self, minutes: int | None) -> None:
        self.attachment()
        self.assertIs(cache_modes.CacheMode.WRITEBACK, self.mode(minutes))

    def test_one_that_was_deleted_after_the_new_one_was_reserved(self) -> None:
        before = datetime.timedelta(minutes=2)
        now = datetime.datetime.now(datetime.timezone.utc)
        self.detach(self.attachment(created_at=now - before))
        self.assertIs(cache_modes.CacheMode.WRITEBACK, self.mode(-1))

    @ddt.data(None, 1)
    def test_one_that_was_deleted_before(self, minutes: int | None) -> None:
        self.detach(self.attachment())
        self.assertEqual('nothing', self.mode(minutes))

    def test_the_last_one_counts(self) -> None:
        self.detach(self.attachment('none'))
        self.attachment('directsync')
        self.assertIs(cache_modes.CacheMode.DIRECTSYNC, self.mode(-1))

    @ddt.data(None, 'strange')
    def test_no_mode(self, mode: str | None) -> None:
        self.attachment(mode)
        self.assertIsNone(self.mode())

    def test_other_attachments_say_nothing(self) -> None:
        self.assertEqual('nothing', self.mode())
        self.attachment(server=_OTHER)
        self.attachment(attach_status='reserved')
        self.attachment(connection_info={})
        self.assertEqual('nothing', self.mode(-1))

    def test_earlier_attachment_knows_its_host(self) -> None:
        self.attachment(attached_host='compute-1')
        replaced: Any = replacement.of_server(self.volume.id, _SERVER)
        self.assertIs(replaced, replaced.on_host({'host': 'compute-1'}))
        self.assertIsNone(replaced.on_host({'host': 'compute-2'}))
        self.assertIsNone(agreement.Earlier(None).on_host({}))

    def test_long_history_is_not_read(self) -> None:
        """A tenant can create and delete any number of attachments."""
        engine = sqlalchemy.engine.Engine
        counts = []
        for _ in range(2):
            for _ in range(20):
                self.detach(self.attachment())
            sent = mock.Mock()
            event.listen(engine, 'before_cursor_execute', sent)
            replacement.of_server(self.volume.id, _SERVER)
            event.remove(engine, 'before_cursor_execute', sent)
            counts.append(sent.call_count)
        self.assertEqual(counts[0], counts[1])

    def test_does_not_replace_itself(self) -> None:
        """An attachment whose connector changes does not replace itself."""
        new = self.attachment()
        replaced = replacement.of_server(
            self.volume.id, _SERVER, new.created_at, new.id
        )
        self.assertIsNone(replaced)


class OfWaitingTest(OfServerTest):
    """Tests that search by the reserved attachment."""

    def mode(self, minutes: int | None = None) -> Any:
        waiting = self.attachment(
            attach_status='reserved', connection_info=None
        )
        since = datetime.timedelta(minutes=minutes or 0)
        waiting.created_at += since
        current = objects.Volume.get_by_id(self.admin, self.volume.id)
        for each in current.volume_attachment:
            if each.id == waiting.id:
                each.created_at += since
        replaced = replacement.of_waiting(current)
        waiting.destroy()
        return replaced.mode if replaced else 'nothing'


@ddt.ddt
class ReplacedByNovaTest(test.TestCase):
    """Tests with the requests that Nova sends to Cinder."""

    def setUp(self) -> None:
        super().setUp()
        self.admin = context.get_admin_context()
        self.volume: Any = cinder_utils.create_volume(self.admin)
        self.clock = self.useFixture(timeutils_fixture.TimeFixture())
        self.first = self.connected(self.reserved(), 'one', 'writeback')

    def reserved(self, server: str = _SERVER, seconds: float = 10) -> Any:
        """Reserve an attachment."""
        self.clock.advance_time_seconds(seconds)
        made = objects.VolumeAttachment(
            self.admin,
            volume_id=self.volume.id,
            attach_status='reserved',
            instance_uuid=server,
        )
        made.create()
        return made

    def connected(self, attachment: Any, host: str, mode: str) -> Any:
        """Connect an attachment to a host, and complete it."""
        self.clock.advance_time_seconds(10)
        attachment.connection_info = {'cache_mode': mode, 'name': 'image'}
        attachment.save()
        db.volume_attached(
            self.admin, attachment.id, attachment.instance_uuid, host, 'vda'
        )
        return attachment

    def deleted(self, attachment: Any) -> None:
        self.clock.advance_time_seconds(10)
        db.volume_detached(self.admin, self.volume.id, attachment.id)

    def replaced(self, attachment: Any) -> Any:
        """Reserve the next attachment before the deletion of the last one."""
        new = self.reserved()
        self.deleted(attachment)
        return new

    def kept(self, new: Any, host: str) -> str | None:
        """Return the mode that a host keeps, which both functions find."""
        current = objects.Volume.get_by_id(self.admin, self.volume.id)
        earlier = replacement.of_server(
            self.volume.id, _SERVER, new.created_at, new.id
        )
        self.assertEqual(earlier, replacement.of_waiting(current))
        # nova-scheduler asks before Nova reserves the next attachment.
        self.assertEqual(
            earlier, replacement.of_server(self.volume.id, _SERVER)
        )
        on_host = earlier.on_host({'host': host}) if earlier else None
        return on_host.mode.value if on_host and on_host.mode else None

    def test_revert_returns_to_the_host_before_the_last_one(self) -> None:
        resized = self.connected(self.replaced(self.first), 'two', 'none')
        new = self.replaced(resized)
        self.assertEqual('writeback', self.kept(new, 'one'))
        self.assertEqual('none', self.kept(new, 'two'))
        self.assertIsNone(self.kept(new, 'three'))

    def test_revert_to_another_cell_uses_its_own_attachment(self) -> None:
        """It was reserved before that of the other cell."""
        new = self.replaced(self.first)
        resized = self.connected(self.reserved(), 'two', 'none')
        self.deleted(resized)
        self.assertEqual('writeback', self.kept(new, 'one'))

    def test_host_of_an_earlier_move_keeps_nothing(self) -> None:
        last = self.connected(self.replaced(self.first), 'two', 'none')
        last = self.connected(self.replaced(last), 'three', 'none')
        self.assertIsNone(self.kept(self.replaced(last), 'one'))

    def test_live_migration_back_must_be_offered_the_mode(self) -> None:
        """The guest runs, and its former host has no disk of it."""
        self.connected(self.reserved(), 'two', 'none')
        self.deleted(self.first)
        new = self.reserved()
        self.assertIsNone(self.kept(new, 'one'))
        self.assertEqual('none', self.kept(new, 'two'))

    @ddt.data(1, 2, 3)
    def test_failed_attempts_keep_the_mode(self, attempts: int) -> None:
        """Evacuation and unshelve replace what was never connected."""
        new = self.replaced(self.first)
        for _ in range(attempts):
            new = self.replaced(new)
        self.assertEqual('writeback', self.kept(new, 'one'))

    @ddt.data((0.5, 'writeback'), (5, None))
    @ddt.unpack
    def test_failed_refresh_of_nova_manage(
        self, pause: float, mode: str | None
    ) -> None:
        """It deletes the attachment before it reserves the next one."""
        failed = self.replaced(self.first)
        self.deleted(failed)
        new = self.reserved(seconds=pause)
        self.assertEqual(mode, self.kept(new, 'one'))

    def test_live_migration_that_was_rolled_back(self) -> None:
        self.deleted(self.connected(self.reserved(), 'two', 'none'))
        new = self.replaced(self.first)
        self.assertEqual('writeback', self.kept(new, 'one'))
        self.assertIsNone(self.kept(new, 'two'))

    @ddt.data(True, False)
    def test_many_refused_live_migrations(self, is_deleted: bool) -> None:
        """They leave attachments that were never connected."""
        for _ in range(2 * replacement._MOST_READ):
            refused = self.reserved()
            if is_deleted:
                self.deleted(refused)
        new = self.reserved()
        self.assertEqual('writeback', self.kept(new, 'one'))

    def test_detached_and_attached_again(self) -> None:
        self.deleted(self.first)
        new = self.reserved(seconds=0.5)
        self.assertIsNone(self.kept(new, 'one'))

    def test_reserved_before_the_last_one_was_connected(self) -> None:
        """A tenant can reserve while Nova attaches the volume."""
        self.deleted(self.first)
        last = self.reserved()
        forged = self.reserved()
        self.deleted(self.connected(last, 'one', 'writeback'))
        self.assertIsNone(self.kept(self.replaced(forged), 'one'))

    def test_reservation_for_another_server(self) -> None:
        other = self.reserved(_OTHER)
        self.deleted(self.first)
        new = self.reserved()
        self.deleted(other)
        self.assertIsNone(self.kept(new, 'one'))
