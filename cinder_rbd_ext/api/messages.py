# SPDX-License-Identifier: Apache-2.0
"""Extends Cinder's user messages by the reasons of refusals.

Cinder lists the messages of all projects to every caller (seen with 29.0.0).
Reasons are appended only for volumes of the caller's project.
"""

from typing import Any

from cinder.message import message_field
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages

LOG = logging.getLogger(__name__)


def append(req: protocols.Request, message: dict[str, Any]) -> None:
    """Append the stored reason to a message of a response."""
    append_all(req, [message])


def append_all(req: protocols.Request, messages: list[dict[str, Any]]) -> None:
    """Append the stored reasons; a failure must not hide the messages."""
    caller = req.environ['cinder.context']
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
        message['user_message'] = reasons.message(
            admin_metadata, message.get('request_id'), message['user_message']
        )
