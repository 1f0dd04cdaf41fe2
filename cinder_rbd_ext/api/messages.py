# SPDX-License-Identifier: Apache-2.0
"""Extends Cinder's user messages by the reasons of refusals.

Cinder lists the messages of all projects to every caller (seen with 29.0.0).
Reasons are appended only for volumes of the caller's project.
"""

from typing import Any

from cinder import context
from cinder.api.openstack import wsgi
from cinder.message import message_field
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.api import controller
from rbd_volume_options import image_record

LOG = logging.getLogger(__name__)


class MessagesController(controller.Controller):
    """Extends Cinder's controller of user messages and runs after it."""

    @wsgi.extends
    def index(
        self, req: protocols.Request, resp_obj: protocols.Response
    ) -> None:
        _append(req.environ['cinder.context'], resp_obj.obj['messages'])

    @wsgi.extends
    def show(
        self, req: protocols.Request, resp_obj: protocols.Response, id: str
    ) -> None:
        _append(req.environ['cinder.context'], [resp_obj.obj['message']])


def _append(
    caller: context.RequestContext, messages: list[dict[str, Any]]
) -> None:
    """Append the stored reasons; a failure must not hide the messages."""
    told = [
        each
        for each in messages
        if each.get('resource_type') == message_field.Resource.VOLUME
        and each.get('resource_uuid')
        and each.get('event_id') in user_messages.EVENTS
    ]
    if not told:
        return
    volume_ids = sorted({each['resource_uuid'] for each in told})
    try:
        stored = {
            each.id: each.admin_metadata
            for each in record.stored_rows(volume_ids)
            if caller.is_admin or each.project_id == caller.project_id
        }
    except Exception:
        LOG.exception('Could not read the reasons of user messages')
        return
    for message in told:
        admin_metadata = stored.get(message['resource_uuid'], {})
        reason = image_record.message_reason(
            admin_metadata, message.get('request_id')
        )
        if reason:
            message['user_message'] = f'{message["user_message"]} {reason}'
