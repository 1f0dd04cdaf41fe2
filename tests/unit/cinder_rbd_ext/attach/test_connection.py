# SPDX-License-Identifier: Apache-2.0

import errno
import pathlib
import types
from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.volume import manager
import ddt

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext.attach import requester
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import base

_SERVER = '11111111-2222-4333-8444-555555555555'
_PLAIN = {'host': 'compute-1'}


def _plugged(*modes: str, **more: Any) -> dict[str, Any]:
    return {**_PLAIN, 'rbd_host': {'modes': list(modes), **more}}


_PLUGGED = _plugged('none', 'writeback')


class AttachingTestCase(base.DriverTestCase):
    """Base class for tests with volumes that Nova has reserved."""

    def waiting(self, mode: str | None = 'writeback', **fields: Any) -> Any:
        """Return a volume that is reserved for a server."""
        volume = self.made_volume({}, **fields)
        # Set later, because a volume with an unknown mode is not created.
        volume.metadata = {'rbd:cache_mode': mode} if mode else {}
        self.reserve(volume)
        return volume

    def reserve(self, volume: Any) -> None:
        """Reserve a volume, as the API does before it calls the driver."""
        objects.VolumeAttachment(
            self.context,
            volume_id=volume.id,
            attach_status='reserved',
            instance_uuid=_SERVER,
        ).create()
        volume.status = 'reserved'
        volume.save()

    def data(self, volume: Any, connector: Any) -> dict[str, Any]:
        """Return the data of a connection."""
        data: dict[str, Any] = self.driver.initialize_connection(
            volume, connector
        )['data']
        return data

    def refusal(self, volume: Any) -> reasons.Reason | None:
        """Return the refusal that the tenant can read."""
        return reasons.stored(self.recorded(volume), 'attachment')

    def check_refused(self, volume: Any, connector: Any, *words: str) -> None:
        """Check that an attachment is refused and the tenant gets a reason."""
        error = self.assertRaises(
            exceptions.AttachmentRefused, self.data, volume, connector
        )
        told = self.told(volume)
        for word in words:
            for text in (str(error), self.log.output, told):
                self.assertIn(word, text)
        self.assertIn("to host 'compute-1'", self.log.output)
        for text in (str(error), told):
            self.assertNotIn('compute-1', text)


@ddt.ddt
class ServerTest(AttachingTestCase):
    def test_mode_that_the_host_offers(self) -> None:
        data = self.data(self.waiting(), _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertNotIn('is not attached', self.log.output)

    @ddt.data(_PLAIN, _PLUGGED)
    def test_nobody_asks(self, connector: dict[str, Any]) -> None:
        """Without a key, the compute host decides."""
        volume = self.waiting(None)
        self.override_backend('rbd_cache_mode_enforcement', 'strict')
        self.assertNotIn('cache_mode', self.data(volume, connector))

    def test_host_without_the_plug_in(self) -> None:
        self.check_refused(
            self.waiting(),
            _PLAIN,
            "rbd:cache_mode = 'writeback' (volume metadata)",
            'offers no cache modes',
        )

    def test_mode_that_the_host_does_not_offer(self) -> None:
        self.check_refused(
            self.waiting('directsync'),
            _PLUGGED,
            "rbd:cache_mode = 'directsync'",
            'allowed: none, writeback',
        )

    def test_refusal_is_forgotten_with_the_next_attachment(self) -> None:
        volume = self.waiting()
        self.check_refused(volume, _PLAIN, 'offers no')
        self.data(volume, _PLUGGED)
        self.assertIsNone(self.refusal(volume))
        self.check_refused(volume, _PLAIN, 'offers no')
        volume.metadata = {}
        volume.save()
        self.data(volume, _PLAIN)
        self.assertIsNone(self.refusal(volume))

    def test_multiattach_volume_gets_mode_none(self) -> None:
        """Nova sets `none` for multi-attach, with or without the plug-in."""
        volume = self.waiting(
            None,
            volume_type=self.make_type(multiattach='<is> True'),
            multiattach=True,
        )
        self.assertEqual('none', self.data(volume, _PLAIN)['cache_mode'])

    def test_accepted_mode_outlives_the_permission_to_set_it(self) -> None:
        volume = self.waiting()
        record.accepted(volume.id, volume.metadata)
        self.driver = self.make_driver(rbd_tenant_options='')
        data = self.data(volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertNotIn('API extension', self.log.output)

    def test_mode_past_the_api_extension_needs_permission(self) -> None:
        volume = self.waiting()
        self.driver = self.make_driver(rbd_tenant_options='')
        self.check_refused(volume, _PLUGGED, 'tenants may not set this key')
        self.assertIn('Load the extension', self.log.output)


@ddt.ddt
class ManagerTest(AttachingTestCase):
    """Tests for refusals in Cinder's manager."""

    @ddt.data('_connection_create', 'initialize_connection')
    def test_refusal_passes_on_unwrapped(self, name: str) -> None:
        volume = self.waiting()
        service = types.SimpleNamespace(driver=self.driver)
        arguments = [self.context, volume, dict(_PLAIN)]
        if name == '_connection_create':
            attachments = requester.current(volume).volume_attachment
            arguments.insert(2, attachments[0])
        error = self.assertRaises(
            exception.InvalidVolume,
            getattr(manager.VolumeManager, name),
            service,
            *arguments,
        )
        # Not a subclass: RPC only passes on classes of cinder.exception.
        self.assertIs(exception.InvalidVolume, type(error))
        self.assertEqual(400, error.code)
        self.assertIn('offers no cache modes', str(error))
        self.assertNotIn('compute-1', str(error))

    def test_failure_stays_a_failure(self) -> None:
        volume = self.waiting()
        service = types.SimpleNamespace(driver=self.driver)
        self.mock_object(
            self.driver,
            '_get_mon_addrs',
            autospec=True,
            side_effect=exception.InvalidInput(reason='another'),
        )
        self.assertRaises(
            exception.VolumeBackendAPIException,
            manager.VolumeManager.initialize_connection,
            service,
            self.context,
            volume,
            dict(_PLUGGED),
        )


@ddt.ddt
class LenientTest(AttachingTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.driver = self.make_driver(rbd_cache_mode_enforcement='lenient')

    @ddt.data(
        (_PLAIN, 'The compute host decides on the mode.'),
        (_plugged('none'), 'The mode is none.'),
    )
    @ddt.unpack
    def test_attached_with_a_request_that_a_later_start_fulfils(
        self, connector: dict[str, Any], effect: str
    ) -> None:
        volume = self.waiting()
        data = self.data(volume, connector)
        self.assertEqual('writeback', data['cache_mode'])
        text = "to host 'compute-1' without a requested option: "
        self.assertIn(text, self.log.output)
        self.assertIsNone(self.refusal(volume))
        told = self.told(volume)
        self.assertIn("rbd:cache_mode = 'writeback'", told)
        self.assertIn(effect, told)
        self.assertNotIn('compute-1', told)

    def test_setting_of_the_image_is_logged(self) -> None:
        volume = self.waiting()
        stored = self.cluster.stored(volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        data = self.data(volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('conf_rbd_cache = false', self.log.output)


@ddt.ddt
class OverrideTest(AttachingTestCase):
    @ddt.data(('writeback', 'false'), ('none', 'true'))
    @ddt.unpack
    def test_setting_of_the_image(self, mode: str, setting: str) -> None:
        volume = self.waiting(mode)
        stored = self.cluster.stored(volume.name)
        stored.metadata['conf_rbd_cache'] = setting
        self.check_refused(
            volume, _PLUGGED, f'conf_rbd_cache = {setting}', 'overrides it'
        )
        del stored.metadata['conf_rbd_cache']
        self.assertEqual(mode, self.data(volume, _PLUGGED)['cache_mode'])

    def test_lost_connection(self) -> None:
        """The attachment is repeated, not made without the check."""
        volume = self.waiting()
        stored = self.cluster.stored(volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        lost = fake_rados.OSError(errno.ESHUTDOWN)
        self.cluster.fail('Ioctx.operate_read_op', lost)
        self.check_refused(volume, _PLUGGED, 'conf_rbd_cache = false')

    def test_setting_of_the_pool(self) -> None:
        volume = self.waiting()
        self.cluster.pools['volumes'].config['rbd_cache'] = 'false'
        self.check_refused(volume, _PLUGGED, 'conf_rbd_cache = false')

    def test_nobody_asks(self) -> None:
        """Without a request, there is no refusal, and no image is opened."""
        volume = self.waiting(None)
        self.cluster.stored(volume.name).metadata['conf_rbd_cache'] = 'false'
        self.cluster.fail('Image.config_list', self.librbd.Error('asked'))
        self.data(volume, _PLUGGED)
        self.cluster.forgive()

    def test_shared_volume_is_attached_as_ever(self) -> None:
        volume = self.waiting(
            None,
            volume_type=self.make_type(multiattach='<is> True'),
            multiattach=True,
        )
        self.cluster.stored(volume.name).metadata['conf_rbd_cache'] = 'true'
        self.data(volume, _PLAIN)
        self.assertIn('conf_rbd_cache = true', self.log.output)

    def test_image_that_can_not_be_asked(self) -> None:
        volume = self.waiting()
        self.cluster.fail('Ioctx.operate_read_op', fake_rados.Error('no omap'))
        self.cluster.fail('Image.config_list', self.librbd.Error('no answer'))
        data = self.data(volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('no answer', self.log.output)

    def test_image_is_opened_only_if_its_objects_cannot_be_read(self) -> None:
        volume = self.waiting()
        stored = self.cluster.stored(volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        self.cluster.fail('Ioctx.operate_read_op', fake_rados.Error('no omap'))
        self.check_refused(volume, _PLUGGED, 'conf_rbd_cache = false')
        self.cluster.fail('Image.config_list', self.librbd.Error('opened'))
        self.check_refused(volume, _PLUGGED, 'conf_rbd_cache = false')
        self.assertEqual({'Image.config_list'}, self.cluster.faults_left)
        self.cluster.forgive()


@ddt.ddt
class OwnTest(AttachingTestCase):
    """Cinder's own attachments are the same as with the stock driver."""

    @ddt.data('writeback', 'no-such-mode')
    def test_empty_connector(self, mode: str) -> None:
        volume = self.waiting(mode)
        self.assertNotIn('cache_mode', self.data(volume, {}))

    @ddt.data('writeback', 'no-such-mode')
    def test_nobody_waits(self, mode: str) -> None:
        """Backup, migration and os-initialize_connection have no mode."""
        volume = self.made_volume()
        volume.metadata = {'rbd:cache_mode': mode}
        volume.save()
        self.assertNotIn('cache_mode', self.data(volume, _PLAIN))
        self.assertIsNone(self.refusal(volume))

    @ddt.data('writeback', 'no-such-mode')
    def test_driver_attaches(self, mode: str) -> None:
        """The driver attaches a volume, as for an upload that is not raw."""
        volume = self.waiting()
        volume.metadata = {'rbd:cache_mode': mode}
        volume.save()
        seen: list[Any] = []

        def connect(conn: Any) -> dict[str, Any]:
            seen.append(conn)
            return {'conn': conn, 'device': {'path': pathlib.Path()}}

        self.driver._connect_device = connect
        self.driver._attach_volume(self.context, volume, _PLAIN)
        self.assertNotIn('cache_mode', seen[0]['data'])

    @ddt.data(('writeback', 'writeback'), ('no-such-mode', None))
    @ddt.unpack
    def test_connection_that_may_be_of_cinder_is_not_refused(
        self, mode: str, requested: str | None
    ) -> None:
        volume = self.waiting()
        volume.metadata = {'rbd:cache_mode': mode}
        volume.status = 'backing-up'
        volume.save()
        self.assertIs(
            requester.Consumer.UNKNOWN,
            requester.of_connection(requester.current(volume), _PLAIN),
        )
        data = self.data(volume, _PLAIN)
        self.assertEqual(requested, data.get('cache_mode'))
        self.assertIn('without a requested option', self.log.output)
        self.assertIsNone(self.refusal(volume))


@ddt.ddt
class AbilityTest(AttachingTestCase):
    """Options other than the mode that a host may be unable to apply."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.waiting(None)
        self.volume.metadata = {'rbd:discard_granularity': '64K'}
        self.volume.save()

    def test_refusal_names_the_versions(self) -> None:
        versions = {'libvirt': '9.0.0', 'qemu': '7.2.0'}
        self.check_refused(
            self.volume,
            _plugged('none', versions=versions),
            'rbd:discard_granularity',
            'libvirt 9.7.0',
            'has libvirt 9.0.0, QEMU 7.2.0',
        )

    def test_host_that_can_apply_it_gets_it(self) -> None:
        connector = _plugged(keys=['rbd:discard_granularity'])
        data = self.data(self.volume, connector)
        self.assertEqual(65536, data['discard_granularity'])

    def test_move_to_a_host_that_cannot_apply_it_is_told(self) -> None:
        objects.VolumeAttachment(
            self.context,
            volume_id=self.volume.id,
            attach_status='attached',
            instance_uuid=_SERVER,
        ).create()
        data = self.data(self.volume, _PLAIN)
        self.assertEqual(65536, data['discard_granularity'])
        told = self.told(self.volume)
        self.assertIn('The server gets the volume without it.', told)


_SECTORS = {'logical_block_size': '4096', 'physical_block_size': '4096'}


@ddt.ddt
class MoveTest(AttachingTestCase):
    """Attachments of a server that has the volume, or had it."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.waiting()
        self.data(self.volume, _PLUGGED)
        (self.attached,) = requester.current(self.volume).volume_attachment
        self.attached.attach_status = 'attached'
        self.attached.connection_info = {'cache_mode': 'writeback'}
        self.attached.save()
        self.reserve(self.volume)

    def detach(self) -> None:
        """End the attachment as the volume service does."""
        admin = cinder_context.get_admin_context()
        db.volume_detached(admin, self.volume.id, self.attached.id)

    @ddt.data(
        *(
            (connector, ends)
            for connector in (_PLAIN, _plugged('none'), _PLUGGED)
            for ends in (True, False)
        )
    )
    @ddt.unpack
    def test_host_that_does_not_offer_the_mode_is_told_what_is_requested(
        self, connector: dict[str, Any], ends: bool
    ) -> None:
        """A live migration ends the old attachment last."""
        if ends:
            self.detach()
        data = self.data(self.volume, connector)
        self.assertEqual('writeback', data['cache_mode'])
        told = self.told(self.volume)
        self.assertIs(connector is not _PLUGGED, 'The ' in told)

    def test_mode_that_is_no_longer_allowed_is_kept(self) -> None:
        self.driver = self.make_driver(rbd_allowed_cache_modes='none')
        self.detach()
        data = self.data(self.volume, _PLAIN)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('It keeps the mode that it had', self.log.output)

    def test_setting_of_the_image_does_not_refuse_it(self) -> None:
        stored = self.cluster.stored(self.volume.name)
        stored.metadata['conf_rbd_cache'] = 'false'
        data = self.data(self.volume, _PLUGGED)
        self.assertEqual('writeback', data['cache_mode'])
        self.assertIn('conf_rbd_cache = false', self.log.output)

    def test_sector_size_stays_that_of_the_last_connection(self) -> None:
        """The data in the volume was written with it."""
        self.attached.connection_info = dict(_SECTORS)
        self.attached.save()
        for recorded in '512', 'broken':
            record.write(self.volume.id, {'rbd:sector_size': recorded})
            data = self.data(self.volume, _PLUGGED)
            self.assertEqual(_SECTORS, {key: data[key] for key in _SECTORS})
        self.attached.connection_info = {'name': 'image'}
        self.attached.save()
        record.write(self.volume.id, {'rbd:sector_size': '4096'})
        data = self.data(self.volume, _PLUGGED)
        self.assertNotIn('logical_block_size', data)

    def test_invalid_sector_size_of_a_first_attachment_is_refused(
        self,
    ) -> None:
        volume = self.waiting(None)
        record.write(volume.id, {'rbd:sector_size': 'broken'})
        self.assertRaises(
            exceptions.AttachmentRefused, self.data, volume, _PLUGGED
        )
