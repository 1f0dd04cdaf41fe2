# SPDX-License-Identifier: Apache-2.0
"""Requests with a connector: attachments and os-initialize_connection.

A connector is a caller's description of a host. What it can do for a volume
counts only if the caller is a service.
"""

from collections.abc import Callable
import functools
from typing import Any

from cinder import objects
from cinder import volume as cinder_volume
from cinder.policies import attachments as attachment_policies
from cinder.policies import volume_actions as action_policies
from oslo_log import log as logging
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import user_messages
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import volume_source
from cinder_rbd_ext.attach import cache_mode
from cinder_rbd_ext.attach import moves
from cinder_rbd_ext.attach import requester
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts

LOG = logging.getLogger(__name__)

# Statuses in which Cinder's API creates the first attachment of a volume.
_FREE = ('available', 'downloading')

Move = Callable[[], agreement.Move | None]


def _connector(call: api_call.ApiCall) -> dict[str, Any]:
    """Return the connector of a request; our item only of a service."""
    connector = api_call.part_of(call.part, 'connector')
    if compute_hosts.CONNECTOR_ITEM in connector and not _is_service(
        call.context
    ):
        LOG.debug(
            'Ignored %(key)s in a connector: the request has no service '
            'token, and policy %(policy)s does not allow it',
            {
                'key': compute_hosts.CONNECTOR_ITEM,
                'policy': policies.OFFER_CACHE_MODES,
            },
        )
        del connector[compute_hosts.CONNECTOR_ITEM]
    return connector


def _check(
    call: api_call.ApiCall,
    volume: protocols.Volume,
    connector: dict[str, Any],
    for_server: bool,
    move: Move,
) -> None:
    """Check that a host can do what a first attachment requests.

    Without a server, only a connector that names what a host can do is that of
    a compute host.

    The driver checks what only it knows, and everything if the scheduler does
    not respond: an attachment must not depend on it.

    :param move: returns the move that the attachment belongs to, if any
    :raises HTTPBadRequest: if it cannot
    """
    is_certain = for_server or compute_hosts.CONNECTOR_ITEM in connector
    if not is_certain or not agreement.requires_host(volume):
        return
    try:
        here = call.reported.holding(volume)
    except webob.exc.HTTPServiceUnavailable as error:
        LOG.warning(
            'The API does not check the attachment of volume %(id)s, only '
            'the driver does: %(error)s',
            {'id': volume.id, 'error': error.explanation},
        )
        return
    if here is None or here.settings is None:
        return
    refusal = cache_mode.agree(volume, connector, here.settings).refusal
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
    user_messages.refused(volume, user_messages.Operation.ATTACHMENT, refusal)
    raise refusal


def check_create(call: api_call.ApiCall) -> None:
    """Check the volume of a new attachment, and its connector if any."""
    connector = _connector(call)
    volume_id = call.part.get('volume_uuid')
    server = call.part.get('instance_uuid')
    # Cinder's schema refuses what is not an ID.
    if not uuidutils.is_uuid_like(volume_id) or not (
        server is None or uuidutils.is_uuid_like(server)
    ):
        return
    volume = objects.Volume.get_by_id(call.context, volume_id)
    policy = attachment_policies.CREATE_POLICY
    if not policies.allows(call.context, policy, volume):
        return
    is_free = volume.status in _FREE
    if (
        is_free
        and volume_use.is_copied(volume)
        and call.reported.may_be_ours(volume)
    ):
        # After a refusal by the driver, Cinder would keep the volume
        # reserved, because it is being migrated.
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume {volume.id} is being migrated. Attach it '
            'afterwards.'
        )
    servers = {each.instance_uuid for each in volume.volume_attachment}
    if connector and (is_free or (server and server in servers)):
        move = functools.partial(moves.of_server, volume, server)
        _check(call, volume, connector, server is not None, move)


def check_update(call: api_call.ApiCall) -> None:
    """Check the new connector of an attachment."""
    connector = _connector(call)
    if not connector:
        return
    ident = call.ids['id']
    attachment = objects.VolumeAttachment.get_by_id(call.context, ident)
    server = attachment.instance_uuid
    volume = objects.Volume.get_by_id(call.context, attachment.volume_id)
    policy = attachment_policies.UPDATE_POLICY
    if 'error' not in volume.status and (
        policies.allows(call.context, policy, attachment)
    ):
        move = functools.partial(moves.of_server, volume, server, ident)
        _check(call, volume, connector, server is not None, move)


def check_initialize(call: api_call.ApiCall) -> None:
    """Check the volume and connector of one without an attachment."""
    connector = _connector(call)
    volume = objects.Volume.get_by_id(call.context, call.volume_id)
    policy = action_policies.INITIALIZE_POLICY
    if not policies.allows(call.context, policy, volume):
        return
    volume_source.check_usable(volume, f'Volume {volume.id}')
    if connector and agreement.requires_host(volume):
        current = requester.current(volume)
        consumer = requester.of_connection(current, connector)
        for_server = consumer is requester.Consumer.SERVER
        move = functools.partial(moves.of_waiting, current)
        _check(call, volume, connector, for_server, move)


def check_terminate(call: api_call.ApiCall) -> None:
    """Let only services terminate the connection of a restore.

    The driver restores the keys of the volume when that connection ends.
    """
    volume = objects.Volume.get_by_id(call.context, call.volume_id)
    if (
        volume.status in requester.RESTORING
        and policies.allows(
            call.context, action_policies.TERMINATE_POLICY, volume
        )
        and not _is_service(call.context)
    ):
        raise webob.exc.HTTPBadRequest(
            explanation=f'The status of the volume is {volume.status}. In '
            'this status, only Cinder can end connections of the volume.'
        )


def _is_service(context: protocols.Context) -> bool:
    return cinder_volume.API().is_service_request(context) or policies.allows(
        context, policies.OFFER_CACHE_MODES
    )
