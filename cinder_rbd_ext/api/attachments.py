# SPDX-License-Identifier: Apache-2.0
"""Requests with a connector: attachments and os-initialize_connection.

A connector is a caller's description of a host. What it can do for a volume
counts only if the caller is a service.
"""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from cinder import objects
from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.policies import attachments as attachment_policies
from cinder.policies import volume_actions as action_policies
from oslo_log import log as logging
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import user_messages
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.api import controller
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import volume_source
from cinder_rbd_ext.attach import cache_mode
from cinder_rbd_ext.attach import moves
from cinder_rbd_ext.attach import requester
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Statuses in which Cinder's API creates the first attachment of a volume.
_FREE = ('available', 'downloading')

Move = Callable[[], agreement.Move | None]


class _ConnectorController(controller.Controller):
    """Checks each connector that the API receives before Cinder does."""

    def _connector(
        self, req: protocols.Request, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the connector of a request; our item only of a service."""
        connector = controller.part_of(parameters, 'connector')
        if wire.CONNECTOR_HOST in connector and not _is_service(
            req.environ['cinder.context']
        ):
            LOG.debug(
                'Ignored %(key)s in a connector: the request has no service '
                'token, and policy %(policy)s does not allow it',
                {
                    'key': wire.CONNECTOR_HOST,
                    'policy': wire.POLICY_OFFER_CACHE_MODES,
                },
            )
            del connector[wire.CONNECTOR_HOST]
        return connector

    def _check(
        self, volume: protocols.Volume, connector: dict[str, Any], move: Move
    ) -> None:
        """Check that a host can do what a first attachment requests.

        The driver checks what only it knows, and everything if the scheduler
        does not respond: an attachment must not depend on it.

        :param move: returns the move that the attachment belongs to, if any
        :raises HTTPBadRequest: if it cannot
        """
        try:
            here = self._reported.holding(volume)
        except webob.exc.HTTPServiceUnavailable as error:
            LOG.warning(
                'The API does not check the attachment of volume %(id)s, only '
                'the driver does: %(error)s',
                {'id': volume.id, 'error': error.explanation},
            )
            return
        if here is None or here.settings is None:
            return
        refusal = agreement.agree(
            cache_mode.attaching(volume),
            compute_hosts.of_connector(connector),
            here.settings,
        ).refusal
        if refusal is None or move() is not None:
            return
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s. '
            '%(advice)s.',
            {
                'advice': agreement.ADVICE,
                'id': volume.id,
                'host': agreement.host_of(connector),
                'error': refusal,
            },
        )
        user_messages.refused(
            volume, user_messages.Operation.ATTACHMENT, refusal
        )
        with refusals.bad_request():
            raise refusal


class AttachmentsController(_ConnectorController):
    """Extends Cinder's controller of attachments."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the volume of a new attachment, and its connector if any."""
        parameters = controller.part_of(body, 'attachment')
        connector = self._connector(req, parameters)
        volume_id = parameters.get('volume_uuid')
        server = parameters.get('instance_uuid')
        # Cinder's schema refuses what is not an ID.
        if uuidutils.is_uuid_like(volume_id) and (
            server is None or uuidutils.is_uuid_like(server)
        ):
            context = req.environ['cinder.context']
            volume = objects.Volume.get_by_id(context, volume_id)
            policy = attachment_policies.CREATE_POLICY
            if policies.allows(context, policy, volume):
                self._check_create(volume, connector, server)
        yield

    def _check_create(
        self,
        volume: protocols.Volume,
        connector: dict[str, Any],
        server: str | None,
    ) -> None:
        is_free = volume.status in _FREE
        if (
            is_free
            and volume_use.is_copied(volume)
            and self._reported.may_be_ours(volume)
        ):
            # After a refusal by the driver, Cinder would keep the volume
            # reserved, because it is being migrated.
            raise webob.exc.HTTPBadRequest(
                explanation=f'Volume {volume.id} is being migrated. Attach it '
                'afterwards.'
            )
        servers = {each.instance_uuid for each in volume.volume_attachment}
        if (
            connector
            and (is_free or (server and server in servers))
            and _is_certain(connector, server is not None)
            and cache_mode.attaching(volume).requires_host
        ):
            self._check(
                volume, connector, lambda: moves.of_server(volume, server)
            )

    @wsgi.extends
    def update(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the new connector of an attachment."""
        connector = self._connector(
            req, controller.part_of(body, 'attachment')
        )
        if connector:
            self._check_update(req.environ['cinder.context'], id, connector)
        yield

    def _check_update(
        self, context: protocols.Context, ident: str, connector: dict[str, Any]
    ) -> None:
        attachment = objects.VolumeAttachment.get_by_id(context, ident)
        server = attachment.instance_uuid
        if not _is_certain(connector, server is not None):
            return
        volume = objects.Volume.get_by_id(context, attachment.volume_id)
        policy = attachment_policies.UPDATE_POLICY
        if (
            cache_mode.attaching(volume).requires_host
            and 'error' not in volume.status
            and policies.allows(context, policy, attachment)
        ):
            self._check(
                volume,
                connector,
                lambda: moves.of_server(volume, server, ident),
            )


class ConnectionsController(_ConnectorController):
    """Extends Cinder's controller of volume actions."""

    @wsgi.extends(action='os-initialize_connection')
    def initialize_connection(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the volume and connector of one without an attachment."""
        context = req.environ['cinder.context']
        parameters = controller.part_of(body, 'os-initialize_connection')
        connector = self._connector(req, parameters)
        volume = objects.Volume.get_by_id(context, id)
        if policies.allows(context, action_policies.INITIALIZE_POLICY, volume):
            volume_source.check_usable(volume, f'Volume {volume.id}')
            if connector and cache_mode.attaching(volume).requires_host:
                current = requester.current(volume)
                consumer = requester.of_connection(current, connector)
                if _is_certain(
                    connector, consumer is requester.Consumer.SERVER
                ):
                    self._check(
                        volume, connector, lambda: moves.of_waiting(current)
                    )
        yield

    @wsgi.extends(action='os-terminate_connection')
    def terminate_connection(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Let only services terminate the connection of a restore.

        The driver restores the keys of the volume when that connection ends.
        """
        context = req.environ['cinder.context']
        volume = objects.Volume.get_by_id(context, id)
        if (
            volume.status in requester.RESTORING
            and policies.allows(
                context, action_policies.TERMINATE_POLICY, volume
            )
            and not _is_service(context)
        ):
            raise webob.exc.HTTPBadRequest(
                explanation=f'The status of the volume is {volume.status}. In '
                'this status, only Cinder can end connections of the volume.'
            )
        yield


def _is_certain(connector: dict[str, Any], for_server: bool) -> bool:
    return for_server or wire.CONNECTOR_HOST in connector


def _is_service(context: protocols.Context) -> bool:
    return cinder_volume.API().is_service_request(context) or policies.allows(
        context, wire.POLICY_OFFER_CACHE_MODES
    )
