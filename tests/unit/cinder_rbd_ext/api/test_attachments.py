# SPDX-License-Identifier: Apache-2.0
"""Unit tests of cinder_rbd_ext.api.attachments.

The RPC interface of the volume service is mocked. Its arguments are what
Cinder would record.
"""

from typing import Any
from unittest import mock

from cinder import context as cinder_context
from cinder.tests.unit import fake_constants as fake
from cinder.tests.unit.api import fakes
from cinder.volume import rpcapi
import ddt
import fixtures
import oslo_messaging

from cinder_rbd_ext import policies
from cinder_rbd_ext import record
from cinder_rbd_ext.attach import moves
from cinder_rbd_ext.attach import requester
from tests.unit import recorded
from tests.unit.cinder_rbd_ext.api import base

_SERVER = '11111111-2222-4333-8444-555555555555'
_HOST = 'compute-7'
#: Method, path and body of a request.
Request = tuple[str, str, base.Answer]
_MODE = {'rbd:cache_mode': 'writeback'}


def _connector(*offer: str) -> base.Answer:
    connector: base.Answer = {'host': _HOST, 'ip': '192.0.2.1'}
    if offer:
        connector['rbd_host'] = {'modes': list(offer)}
    return connector


_OFFERS: tuple[tuple[str, ...], ...] = ((), ('none',), ('directsync',))
_TERMINATE = 'cinder.volume.rpcapi.VolumeAPI.terminate_connection'


class AttachmentsTestCase(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.asked_driver = [
            self.mock_object(
                rpcapi.VolumeAPI,
                name,
                autospec=True,
                return_value={'driver_volume_type': 'rbd', 'data': {}},
            )
            for name in ('attachment_update', 'initialize_connection')
        ]
        self.nova = self._with_token('service')

    def _with_token(self, *roles: str) -> Any:
        """Return the API for a member with a service token."""
        context = cinder_context.RequestContext(
            fake.USER_ID,
            fake.PROJECT_ID,
            is_admin=False,
            auth_token=True,
            roles=['member', 'reader'],
            service_roles=list(roles),
        )
        app = fakes.wsgi_app(
            fake_auth_context=context, inner_app_v3=self.router
        )
        app.project = fake.PROJECT_ID
        return app

    def reserved(
        self, volume: Any, server: str | None = _SERVER, status: str = ''
    ) -> Any:
        """Create a reserved attachment."""
        attachment = self.add_attachment(
            volume.id, status or 'reserved', instance_uuid=server
        )
        volume.status = 'reserved'
        volume.save()
        return attachment

    def put(self, attachment: Any, *offer: str) -> Request:
        """Return a request that updates an attachment with a connector."""
        body = {'attachment': {'connector': _connector(*offer)}}
        return 'PUT', f'/attachments/{attachment.id}', body

    def post(
        self, volume: Any, *offer: str, server: str | None = _SERVER
    ) -> Request:
        """Return a request that creates an attachment with a connector."""
        body = {'volume_uuid': volume.id, 'connector': _connector(*offer)}
        if server:
            body['instance_uuid'] = server
        return 'POST', '/attachments', {'attachment': body}

    def action(self, volume: Any, *offer: str) -> Request:
        """Return a request for os-initialize_connection."""
        body = {'os-initialize_connection': {'connector': _connector(*offer)}}
        return 'POST', f'/volumes/{volume.id}/action', body

    def seen(self) -> list[base.Answer]:
        """Return the connectors that the volume service received."""
        return [
            next(each for each in call.args if isinstance(each, dict))
            for method in self.asked_driver
            for call in method.call_args_list
        ]

    def refusal(self, volume: Any) -> str:
        """Return the reason that the user message about a volume has."""
        return recorded.reason_of(requester.current(volume))

    def check_refused(
        self, volume: Any, words: str, request: Request, app: Any = None
    ) -> None:
        """Check that a request is refused with 400 and recorded.

        It must not reach the volume service.
        """
        response = self.call(*request, app=app)
        self.assertEqual(400, response.status_int, response.text)
        (fault,) = response.json.values()
        for word in (words, "rbd:cache_mode = '"):
            self.assertIn(word, fault['message'])
            self.assertIn(word, self.refusal(volume))
        self.assertNotIn(_HOST, response.text)
        self.assertNotIn(_HOST, self.refusal(volume))
        self.assertEqual([], self.seen())


@ddt.ddt
class OfferTest(AttachmentsTestCase):
    """Tests for who may offer cache modes in a connector."""

    def requests(self) -> list[Request]:
        """Return a request of each kind, for volumes without a mode."""
        return [
            self.put(self.reserved(self.volume()), 'unsafe'),
            self.post(self.volume(), 'unsafe'),
            self.action(self.volume(), 'unsafe'),
        ]

    def test_of_a_tenant_is_taken_out(self) -> None:
        for request in self.requests():
            self.ok(*request)
        self.assertEqual([_connector()] * 3, self.seen())

    def test_of_a_service_stays(self) -> None:
        for request in self.requests():
            self.ok(*request, app=self.nova)
        self.assertEqual([_connector('unsafe')] * 3, self.seen())

    def test_by_the_role_of_the_user(self) -> None:
        for roles in (('service', 'member'), ('admin', 'member')):
            attachment = self.reserved(self.volume())
            self.ok(*self.put(attachment, 'none'), app=self.make_app(*roles))
        self.assertEqual([_connector('none')] * 2, self.seen())

    def test_token_of_another_role(self) -> None:
        attachment = self.reserved(self.volume())
        token = self._with_token('member')
        self.ok(*self.put(attachment, 'none'), app=token)
        self.assertEqual([_connector()], self.seen())

    def test_operator_overrides(self) -> None:
        rule = policies.OFFER_CACHE_MODES
        self.override_policies(**{rule: 'role:member'})
        self.ok(*self.put(self.reserved(self.volume()), 'none'))
        self.assertEqual([_connector('none')], self.seen())


@ddt.ddt
class RefusalTest(AttachmentsTestCase):
    """Modes that the host does not offer or the back end does not allow."""

    def test_what_is_not_an_id_gets_stock_refusal(self) -> None:
        volume = self.volume(_MODE)
        for name in ('volume_uuid', 'instance_uuid'):
            method, path, body = self.post(volume, 'none')
            body['attachment'][name] = base.UNSTORABLE
            self.refused(400, name, method, path, body, app=self.nova)

    def test_tenant_that_offers_what_it_asks_for(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'writeback'})
        attachment = self.reserved(volume)
        self.check_refused(
            volume, 'offers no cache modes', self.put(attachment, 'writeback')
        )

    def test_update_refuses_mode_that_host_does_not_offer(self) -> None:
        volume = self.volume(_MODE)
        attachment = self.reserved(volume)
        for offer, words in (
            ((), 'offers no cache modes'),
            (('none',), 'does not offer it; allowed: none'),
        ):
            request = self.put(attachment, *offer)
            self.check_refused(volume, words, request, self.nova)
        self.assertIn(_HOST, self.log.output)
        self.ok(*self.put(attachment, 'writeback'), app=self.nova)
        self.assertEqual([_connector('writeback')], self.seen())

    def test_create_refuses_mode_that_host_does_not_offer(self) -> None:
        volume = self.volume(_MODE)
        request = self.post(volume, 'none')
        self.check_refused(volume, 'does not offer it', request, self.nova)
        current = requester.current(volume)
        self.assertEqual('available', current.status)
        self.assertEqual(0, len(current.volume_attachment))
        self.ok(*self.post(volume, 'writeback'), app=self.nova)

    def test_action_refuses_mode_that_host_does_not_offer(self) -> None:
        volume = self.volume(_MODE)
        self.ok(*self.action(volume))
        self.asked_driver[1].reset_mock()
        request = self.action(volume, 'none')
        self.check_refused(volume, 'does not offer it', request, self.nova)
        self.reserved(volume)
        request = self.action(volume, 'writeback')
        self.check_refused(volume, 'offers no cache modes', request)

    def test_mode_of_the_type(self) -> None:
        kind = self.types['rbd']
        self.ok(
            'POST',
            f'/types/{kind}/extra_specs',
            {'extra_specs': {'rbd:cache_mode': 'directsync'}},
            app=self.admin,
        )
        volume = self.volume()
        request = self.put(self.reserved(volume), 'writeback')
        self.check_refused(volume, "'directsync' (volume type)", request)

    def test_not_allowed_by_the_back_end(self) -> None:
        volume = self.volume(
            {'rbd:cache_mode': 'directsync'}, volume_type='rbd2'
        )
        request = self.put(self.reserved(volume), 'directsync')
        words = 'not allowed by this back end; allowed: none, writeback'
        self.check_refused(volume, words, request, self.nova)

    def test_mode_needs_permission_unless_it_was_accepted(self) -> None:
        """The list applies when a key is set through the extension."""
        self.get_pools.return_value = [
            base.pool('rbd', base.settings(tenant_options=frozenset()))
        ]
        volume = self.volume(_MODE)
        request = self.put(self.reserved(volume), 'writeback')
        words = 'tenants may not set this key'
        self.check_refused(volume, words, request, self.nova)
        record.accepted(volume.id, _MODE)
        self.ok(*request, app=self.nova)

    @ddt.data(*((live, offer) for live in (True, False) for offer in _OFFERS))
    @ddt.unpack
    def test_move_is_not_refused(
        self, live: bool, offer: tuple[str, ...]
    ) -> None:
        """Live migration, and others, which first delete the old one."""
        volume = self.volume(
            {'rbd:cache_mode': 'directsync'}, volume_type='rbd2'
        )
        before = self.reserved(volume, status='attached')
        before.connection_info = {'cache_mode': 'directsync'}
        before.save()
        if live:
            request = self.post(volume, *offer)
        else:
            request = self.put(self.reserved(volume), *offer)
            before.destroy()
        self.ok(*request, app=self.nova)
        self.assertEqual([_connector(*offer)], self.seen())

    def test_changed_connector_of_an_attachment_is_no_move(self) -> None:
        volume = self.volume(_MODE)
        before = self.reserved(volume, status='attached')
        before.connection_info = {'cache_mode': 'writeback'}
        before.save()
        request = self.put(before, 'none')
        self.check_refused(volume, 'does not offer it', request, self.nova)

    def test_connection_does_not_wait_for_the_end_of_an_operation(
        self,
    ) -> None:
        """It would hold a thread of the volume service for 45 seconds."""
        for status, word in (
            ('reverting', 'reverted'),
            ('deleting', 'deleted'),
        ):
            volume = self.volume(made=base.MADE, status=status)
            text = f'Volume {volume.id} is being {word}'
            self.refused(400, text, *self.action(volume))
        self.assertEqual([], self.seen())
        # That of another driver.
        self.ok(*self.action(self.volume(status='reverting')))

    def test_volume_that_cinder_copies_is_not_reserved(self) -> None:
        """Cinder would keep that status after a refusal by the driver."""
        for moving in ('migrating', 'completing'):
            volume = self.volume(
                migration_status=moving, previous_status='available'
            )
            text = f'Volume {volume.id} is being migrated'
            self.refused(400, text, *self.post(volume), app=self.nova)
            volume.refresh()
            self.assertEqual('available', volume.status)
        for other in (
            self.volume(migration_status='migrating'),
            self.volume(
                volume_type='fake',
                migration_status='migrating',
                previous_status='available',
            ),
        ):
            self.ok(*self.post(other), app=self.nova)

    def test_moves_are_not_read_for_others(self) -> None:
        read = self.mock_object(moves, 'of_server', autospec=True)
        request = self.post(self.volume(_MODE))
        self.refused(403, '', *request, app=self.make_app('reader'))
        read.assert_not_called()

    def test_refusal_of_another_option_has_the_versions(self) -> None:
        volume = self.volume({'rbd:discard_granularity': '64K'})
        method, path, body = self.put(self.reserved(volume), 'none')
        host = body['attachment']['connector']['rbd_host']
        host['versions'] = {'libvirt': '9.0.0'}
        words = 'libvirt 9.7.0', 'libvirt 9.0.0'
        self.refused(400, words, method, path, body, app=self.nova)
        self.assertIn('libvirt 9.0.0', self.refusal(volume))


class UncheckedAttachmentTest(AttachmentsTestCase):
    """Requests that are left to Cinder and the driver."""

    def test_no_server(self) -> None:
        """An attachment without a server, such as Glance's."""
        volume = self.volume(_MODE)
        self.ok(*self.put(self.reserved(volume, None)))
        self.ok(*self.post(self.volume(_MODE), server=None))
        self.assertEqual('', self.refusal(volume))

    def test_lenient_backend_accepts_missing_offer(self) -> None:
        pool = base.pool('rbd', base.settings())
        pool['capabilities']['rbd_cache_mode_enforcement'] = 'lenient'
        self.get_pools.return_value = [pool]
        self.ok(*self.put(self.reserved(self.volume(_MODE)), 'none'))

    def test_back_end_that_is_not_ours(self) -> None:
        volume = self.volume(_MODE, volume_type='fake')
        self.ok(*self.put(self.reserved(volume)))

    def test_scheduler_that_does_not_answer(self) -> None:
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout()
        self.ok(*self.put(self.reserved(self.volume(_MODE))))
        self.assertIn('The API does not check the attachment', self.log.output)

    def test_scheduler_is_not_asked_in_vain(self) -> None:
        self.ok(*self.put(self.reserved(self.volume())))
        self.get_pools.assert_not_called()

    def test_connection_of_a_restore(self) -> None:
        """Tenants may not end it, as that restores the volume's keys."""
        body = {'os-terminate_connection': {'connector': _connector()}}
        for status, code in (('restoring-backup', 400), ('available', 202)):
            volume = self.volume(_MODE, status=status)
            path = f'/volumes/{volume.id}/action'
            with mock.patch(_TERMINATE, autospec=True) as terminate:
                response = self.call('POST', path, body)
            self.assertEqual(code, response.status_int, response.text)
            self.assertEqual(code == 202, terminate.called)

    def test_of_another_project(self) -> None:
        volume = self.volume(_MODE)
        for request in (
            self.put(self.reserved(volume)),
            self.post(volume),
            self.action(volume),
        ):
            response = self.call(*request, app=self.stranger)
            self.assertIn(response.status_int, (403, 404), response.text)
        self.assertEqual('', self.refusal(volume))

    def test_volume_that_is_in_use(self) -> None:
        """Cinder refuses the request, and no reason is recorded."""
        volume = self.volume(_MODE)
        self.reserved(volume, status='attached')
        other = '22222222-2222-4333-8444-555555555555'
        self.refused(400, 'status must be', *self.post(volume, server=other))
        self.assertEqual('', self.refusal(volume))
