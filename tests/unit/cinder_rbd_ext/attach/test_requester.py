# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import context
from cinder import objects
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
import ddt

from cinder_rbd_ext.attach import requester

Consumer = requester.Consumer
_SERVER = '11111111-2222-4333-8444-555555555555'
_PLAIN = {'host': 'h', 'do_local_attach': False}
_PLUGGED = {**_PLAIN, 'rbd_host': {'modes': ['none']}}

#: Statuses of the volume and of a server's attachment, and the expected
#: consumer for a connector that offers no modes.
_SERVERS: dict[str, tuple[str, str | None, str, Consumer]] = {
    'attach': ('reserved', None, 'reserved', Consumer.SERVER),
    'once_more': ('attaching', None, 'attaching', Consumer.SERVER),
    'after_a_failure': (
        'reserved',
        None,
        'error_attaching',
        Consumer.SERVER,
    ),
    'live_migration': ('in-use', None, 'reserved', Consumer.SERVER),
    'after_a_move': ('in-use', 'success', 'reserved', Consumer.SERVER),
    'nova_moves_it_here': (
        'reserved',
        f'target:{_SERVER}',
        'reserved',
        Consumer.SERVER,
    ),
    'backup_of_an_attached_one': (
        'backing-up',
        None,
        'attached',
        Consumer.OTHER,
    ),
    'upload_of_an_attached_one': (
        'uploading',
        None,
        'attached',
        Consumer.OTHER,
    ),
    'move_of_an_attached_one': (
        'in-use',
        'migrating',
        'attached',
        Consumer.OTHER,
    ),
    're_image_from_a_snapshot': (
        'downloading',
        None,
        'reserved',
        Consumer.UNKNOWN,
    ),
    'backup_and_migration_at_once': (
        'backing-up',
        None,
        'reserved',
        Consumer.UNKNOWN,
    ),
    'move_of_an_unlocked_one': (
        'reserved',
        'migrating',
        'reserved',
        Consumer.UNKNOWN,
    ),
}


@ddt.ddt
class ConsumerTest(test.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.context = context.RequestContext('user', 'project')

    def _volume(
        self,
        status: str = 'available',
        moving: str | None = None,
        attached: str | None = None,
        server: str | None = _SERVER,
    ) -> Any:
        made = cinder_utils.create_volume(
            self.context, status=status, migration_status=moving
        )
        if attached:
            attachment = objects.VolumeAttachment(
                self.context,
                volume_id=made.id,
                attach_status=attached,
                instance_uuid=server,
            )
            attachment.create()
            if attached == 'attached':
                attachment.connection_info = {'name': 'image'}
                attachment.save()
        # As it arrives by RPC, without later database changes.
        return requester.current(objects.Volume(id=made.id))

    @ddt.data(*_SERVERS)
    def test_volume_of_a_server(self, case: str) -> None:
        status, moving, attached, consumer = _SERVERS[case]
        volume = self._volume(status, moving, attached)
        self.assertIs(consumer, requester.of_connection(volume, _PLAIN))

    @ddt.data(*_SERVERS)
    def test_host_that_offers_modes(self, case: str) -> None:
        """Only nova-compute offers modes, whatever the statuses are."""
        status, moving, attached, _ = _SERVERS[case]
        volume = self._volume(status, moving, attached)
        self.assertIs(
            Consumer.SERVER, requester.of_connection(volume, _PLUGGED)
        )

    @ddt.data(*_SERVERS)
    def test_driver_attaches_by_itself(self, case: str) -> None:
        status, moving, attached, _ = _SERVERS[case]
        volume = self._volume(status, moving, attached)
        own: list[dict[str, Any]] = [{}, requester.OwnConnector(_PLAIN)]
        for connector in own:
            self.assertIs(
                Consumer.OTHER, requester.of_connection(volume, connector)
            )

    @ddt.data(
        'available', 'backing-up', 'maintenance', 'retyping', 'attaching'
    )
    def test_nobody_has_it(self, status: str) -> None:
        """A connection for Cinder itself, or for Ironic."""
        volume = self._volume(status)
        self.assertIs(Consumer.OTHER, requester.of_connection(volume, _PLAIN))

    @ddt.data('reserved', 'attaching', 'attached')
    def test_attachment_without_a_server(self, attached: str) -> None:
        """An attachment of Glance, which can store images in volumes."""
        volume = self._volume('reserved', None, attached, server=None)
        self.assertIs(Consumer.OTHER, requester.of_connection(volume, _PLAIN))

    def test_attachment_that_is_gone(self) -> None:
        volume = self._volume('available', None, 'reserved')
        volume.volume_attachment[0].destroy()
        volume = requester.current(volume)
        self.assertIs(Consumer.OTHER, requester.of_connection(volume, _PLAIN))
