# SPDX-License-Identifier: Apache-2.0
"""Requests with a connector: attachments and os-initialize_connection.

A connector is a caller's description of a host. The cache modes in it count
only if the caller is a service. nova-scheduler asks for what the next
attachment requires before Nova moves a server, because Cinder gets the
connector of the new host only after Nova has stopped the guest.
"""

from collections.abc import Callable
from collections.abc import Iterator
import datetime
import functools
from typing import Any

from cinder import objects
from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.policies import attachments as attachment_policies
from cinder.policies import volume_actions as action_policies
from oslo_log import log as logging
from oslo_utils import timeutils
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
from cinder_rbd_ext.attach import replacement
from cinder_rbd_ext.attach import requester
from rbd_volume_options import agreement
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Statuses in which Cinder's API creates the first attachment of a volume.
_FREE = ('available', 'downloading')

Earlier = Callable[[], agreement.Earlier | None]


class _ConnectorController(controller.Controller):
    """Checks each connector that the API receives before Cinder does."""

    def _connector(
        self, req: protocols.Request, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the connector of a request; keep only modes of a service."""
        connector = controller.part_of(parameters, 'connector')
        if wire.CONNECTOR_CACHE_MODES in connector and not _is_service(
            req.environ['cinder.context']
        ):
            LOG.debug(
                'Ignored %(key)s in a connector: the request has no service '
                'token, and policy %(policy)s does not allow it',
                {
                    'key': wire.CONNECTOR_CACHE_MODES,
                    'policy': wire.POLICY_OFFER_CACHE_MODES,
                },
            )
            del connector[wire.CONNECTOR_CACHE_MODES]
        return connector

    def _check(
        self,
        volume: protocols.Volume,
        connector: dict[str, Any],
        earlier: Earlier,
    ) -> None:
        """Check that a volume can be attached with the mode it requests.

        The driver checks what only it knows, and everything if the scheduler
        does not respond: an attachment must not depend on it.

        :raises HTTPBadRequest: if it cannot
        """
        try:
            here = self._reported.holding(volume)
        except webob.exc.HTTPServiceUnavailable as error:
            LOG.warning(
                'The API does not check the cache mode of volume %(id)s, only '
                'the driver does: %(error)s',
                {'id': volume.id, 'error': error.explanation},
            )
            return
        if here is None or here.settings is None:
            return
        agreed = agreement.agree(
            cache_mode.attaching(volume),
            connector,
            here.settings,
            certain=True,
            earlier=earlier,
        )
        if agreed.error is None or not agreed.refused:
            return
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s. '
            '%(advice)s.',
            {
                'advice': agreement.ADVICE,
                'id': volume.id,
                'host': agreement.host_of(connector),
                'error': agreed.error,
            },
        )
        user_messages.tell_attachment_refused(volume, agreed.error)
        with refusals.bad_request():
            raise agreed.error


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
                if server:
                    _check_owner(context, volume, server)
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
            and cache_mode.attaching(volume).requests_mode
        ):
            self._check(volume, connector, earlier_of(volume.id, server))

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
            cache_mode.attaching(volume).requests_mode
            and 'error' not in volume.status
            and policies.allows(context, policy, attachment)
        ):
            earlier = earlier_of(volume.id, server, attachment)
            self._check(volume, connector, earlier)


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
            if connector and cache_mode.attaching(volume).requests_mode:
                current = requester.current(volume)
                consumer = requester.of_connection(current, connector)
                if _is_certain(
                    connector, consumer is requester.Consumer.SERVER
                ):
                    find = functools.partial(replacement.of_waiting, current)
                    self._check(volume, connector, find)
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


def earlier_of(volume_id: str, server: str | None, new: Any = None) -> Earlier:
    """Return a function that finds the attachment that a new one replaces.

    :param new: the new attachment; None if it is not reserved yet
    """
    if server is None:
        return lambda: None
    reserved = () if new is None else (new.created_at, new.id)
    return functools.partial(
        replacement.of_server, volume_id, server, *reserved
    )


def _check_owner(
    context: protocols.Context, volume: protocols.Volume, server: str
) -> None:
    """Check that only Nova replaces an attachment with a cache mode.

    See :mod:`cinder_rbd_ext.attach.replacement`.
    """
    if _is_service(context):
        return
    # Times in the database can be whole seconds.
    since = timeutils.utcnow(with_timezone=True) - datetime.timedelta(
        seconds=1
    )
    earlier = replacement.of_server(volume.id, server, since)
    if earlier and earlier.mode:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Server {server} has volume {volume.id} with a cache '
            'mode. Only Nova can create another attachment for it.'
        )


def _is_certain(connector: dict[str, Any], for_server: bool) -> bool:
    return for_server or wire.CONNECTOR_CACHE_MODES in connector


def _is_service(context: protocols.Context) -> bool:
    return cinder_volume.API().is_service_request(context) or policies.allows(
        context, wire.POLICY_OFFER_CACHE_MODES
    )


class NextAttachmentController(controller.Controller):
    """Shows what an attachment requires of a compute host."""

    def index(self, req: protocols.Request, volume_id: str) -> dict[str, Any]:
        """Return the cache modes of which the host must offer one.

        Only the driver knows a ``conf_rbd_cache`` of the RBD image, which can
        refuse the attachment on each host.
        """
        context = req.environ['cinder.context']
        volume = objects.Volume.get_by_id(context, volume_id)
        policies.check(context, wire.POLICY_GET, volume)
        here = self._reported.holding(volume)
        modes, error = None, None
        if here is not None and here.settings is not None:
            server = req.GET.get(wire.NEXT_ATTACHMENT_SERVER)
            earlier = earlier_of(volume.id, server)
            modes, error = agreement.required(
                cache_mode.attaching(volume),
                here.settings,
                functools.cache(earlier),
            )
        return {
            wire.NEXT_ATTACHMENT: {
                wire.REQUIRED_CACHE_MODES: (
                    None if modes is None else [mode.value for mode in modes]
                ),
                wire.NEXT_ATTACHMENT_REASON: (str(error) if error else None),
            }
        }
