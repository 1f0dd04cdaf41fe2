# SPDX-License-Identifier: Apache-2.0

import datetime
from typing import Any

from cinder import context
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
import ddt

from cinder_rbd_ext.attach import replacement
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
        found = replacement.of_server(self.volume.id, _SERVER, since)
        return found.mode if found else 'nothing'

    @ddt.data(None, -1, 1)
    def test_one_that_is_there(self, minutes: int | None) -> None:
        self.attachment()
        self.assertIs(cache_modes.CacheMode.WRITEBACK, self.mode(minutes))

    def test_one_that_was_deleted_after_the_new_one_was_reserved(self) -> None:
        self.detach(self.attachment())
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
        found: Any = replacement.of_server(self.volume.id, _SERVER)
        self.assertTrue(found.is_on({'host': 'compute-1'}))
        self.assertFalse(found.is_on({'host': 'compute-2'}))
        self.assertFalse(replacement.Earlier(None).is_on({}))

    def test_does_not_replace_itself(self) -> None:
        """An attachment whose connector changes does not replace itself."""
        new = self.attachment()
        found = replacement.of_server(
            self.volume.id, _SERVER, new.created_at, new.id
        )
        self.assertIsNone(found)


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
        found = replacement.of_waiting(current)
        waiting.destroy()
        return found.mode if found else 'nothing'
