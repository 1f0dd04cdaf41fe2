# SPDX-License-Identifier: Apache-2.0

"""User messages of Cinder about what the driver or its API refuses.

Cinder's messages have fixed texts. The reason of a refusal is therefore stored
in the admin metadata of the volume with the ID of the request, and the API
extension appends it (:mod:`cinder_rbd_ext.api.messages`), and shows it as an
attribute of the volume. A volume keeps its last reason only.

A user can repeat a refused request endlessly, and Cinder keeps messages for 30
days. A refusal within :data:`_REPEATED` seconds after a message of the same
kind therefore only gives that message the new reason.
"""

import enum

from cinder import context
from cinder.db import api as db
from cinder.message import api as message_api
from cinder.message import message_field
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)

_Action = message_field.Action
_Detail = message_field.Detail
_Field = tuple[str, str]

_REPEATED = 60

_CREATE = _Action.CREATE_VOLUME_FROM_BACKEND, _Detail.DRIVER_FAILED_CREATE
# Cinder has no action for a retype or a migration.
_SCHEDULE = _Action.SCHEDULE_ALLOCATE_VOLUME, _Detail.NO_BACKEND_AVAILABLE


class Operation(enum.Enum):
    """What was refused, with the nearest action and detail of Cinder."""

    CREATION = (reasons.CREATION, *_CREATE)
    ATTACHMENT = (
        reasons.ATTACHMENT,
        _Action.UPDATE_ATTACHMENT,
        _Detail.ATTACH_ERROR,
    )
    #: What the compute host of a server does not give it.
    OPTION = (
        'requested option',
        _Action.UPDATE_ATTACHMENT,
        _Detail.ATTACH_ERROR,
    )
    #: A key of a new volume that has no effect.
    PROPERTY = (reasons.PROPERTY, *_CREATE)
    EXTENSION = (
        'extension',
        _Action.EXTEND_VOLUME,
        _Detail.DRIVER_FAILED_EXTEND,
    )
    RETYPE = (reasons.RETYPE, *_SCHEDULE)
    MIGRATION = ('migration', *_SCHEDULE)
    #: Keys of a backup that do not match the volume.
    RESTORE = (
        'keys of the backup',
        _Action.BACKUP_RESTORE,
        _Detail.BACKUP_RESTORE_ERROR,
    )
    #: A change of layout that was started and has failed.
    LAYOUT = (reasons.LAYOUT, *_CREATE)

    def __init__(self, label: str, action: _Field, detail: _Field) -> None:
        self.label = label
        self.action = action
        self.detail = detail

    @property
    def event(self) -> str:
        """The event of its messages, as Cinder's API shows it."""
        return (
            f'VOLUME_{message_field.Resource.VOLUME}_'
            f'{self.action[0]}_{self.detail[0]}'
        )


#: Events of messages about refusals.
EVENTS = frozenset(operation.event for operation in Operation)


def refused(
    volume: protocols.Volume,
    operation: Operation,
    reason: errors.OptionError | str,
    told_by_cinder: bool = False,
) -> None:
    """Record why an operation was refused, and create a user message.

    A failure is only logged.

    :param reason: for tenants. A text must not have names of hosts, pools or
        types that they cannot see. The pools of an error are hidden here.
    :param told_by_cinder: whether Cinder itself creates a message for this
        refusal, which then gets the reason
    """
    try:
        # Administrators see the messages of all projects.
        request = context.RequestContext(
            project_id=volume.project_id,
            is_admin=True,
            # None for an orphaned object of Cinder.
            request_id=getattr(volume._context, 'request_id', None),
            overwrite=False,
        )
        repeated = None
        if not told_by_cinder:
            repeated = _repeated(request, volume, operation)
        if isinstance(reason, errors.OptionError):
            reason = reason.for_tenants()
        recorded = reasons.Reason(
            operation.label,
            f'{timeutils.utcnow().isoformat()}Z',
            repeated or request.request_id,
            str(reason),
        )
        record.write(volume.id, *recorded.rows())
        is_notice = operation is Operation.PROPERTY
        if not told_by_cinder and repeated is None:
            message_api.API().create(
                request,
                operation.action,
                resource_uuid=volume.id,
                detail=operation.detail,
                level='WARNING' if is_notice else 'ERROR',
            )
    except Exception:
        LOG.exception('Could not create a message about volume %s', volume.id)


def _repeated(
    request: context.RequestContext,
    volume: protocols.Volume,
    operation: Operation,
) -> str | None:
    latest = db.message_get_all(
        request,
        {
            'project_id': volume.project_id,
            'resource_uuid': volume.id,
            'event_id': operation.event,
        },
        limit=1,
    )
    for each in latest:
        if not timeutils.is_older_than(each['created_at'], _REPEATED):
            return str(each['request_id'])
    return None
