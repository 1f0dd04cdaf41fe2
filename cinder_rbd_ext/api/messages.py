# SPDX-License-Identifier: Apache-2.0
"""Extends Cinder's user messages by the reasons of refusals.

Cinder's messages have fixed texts. The reason for the last refusal is stored
with the volume (:mod:`cinder_rbd_ext.user_messages`).

Cinder lists the messages of all projects to every caller (seen with 29.0.0),
and a message in a response does not name its project. Reasons are appended
only for volumes of the caller's project.
"""

from collections.abc import Mapping
from typing import Any

from cinder import context
from cinder import objects
from cinder.api.openstack import wsgi
from cinder.message import message_field
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import user_messages

LOG = logging.getLogger(__name__)


class MessagesController(wsgi.Controller):
    """Extends Cinder's controller of user messages and runs after it."""

    @wsgi.extends
    def index(
        self, req: protocols.Request, resp_obj: protocols.Response
    ) -> None:
        """Append the reasons to the texts of a list."""
        _append(_caller(req), resp_obj.obj.get('messages', []))

    @wsgi.extends
    def show(
        self, req: protocols.Request, resp_obj: protocols.Response, id: str
    ) -> None:
        """Append the reason to the text of a message."""
        _append(_caller(req), [resp_obj.obj['message']])


def _caller(req: protocols.Request) -> context.RequestContext:
    return req.environ['cinder.context']


def _append(
    caller: context.RequestContext, messages: list[dict[str, Any]]
) -> None:
    """Append the stored reasons; a failure must not hide the messages."""
    told = [each for each in messages if _may_have_reason(each)]
    if not told:
        return
    try:
        stored = _stored_with(caller, {each['resource_uuid'] for each in told})
    except Exception:
        LOG.exception('Could not read the reasons of user messages')
        return
    for message in told:
        admin_metadata = stored.get(message['resource_uuid'], {})
        reason = user_messages.reason_of(
            admin_metadata, message.get('request_id')
        )
        if reason:
            message['user_message'] = f'{message["user_message"]} {reason}'


def _may_have_reason(message: dict[str, Any]) -> bool:
    return (
        message.get('resource_type') == message_field.Resource.VOLUME
        and bool(message.get('resource_uuid'))
        and message.get('event_id') in user_messages.EVENTS
    )


def _stored_with(
    caller: context.RequestContext, volume_ids: set[str]
) -> dict[str, Mapping[str, str]]:
    """Return the admin metadata of the caller's volumes, with one query."""
    volumes = objects.VolumeList.get_all(
        context.get_admin_context(), filters={'id': sorted(volume_ids)}
    )
    return {
        each.id: each.admin_metadata or {}
        for each in volumes
        if caller.is_admin or each.project_id == caller.project_id
    }
