# SPDX-License-Identifier: Apache-2.0

"""The reason for a refused attachment, for the tenant.

The tenant gets a user message. The reason is also recorded with the volume, if
no server has the volume then: a refused live migration leaves the volume
attached to its server, where it works.
"""

from collections.abc import Mapping
import dataclasses

from cinder import context
from cinder.db import api as db
from cinder.objects import fields
from oslo_log import log as logging
from oslo_utils import timeutils

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from rbd_volume_options import errors
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why and when the last attachment of a volume was refused.

    :ivar at: time of the refusal in ISO 8601, UTC
    """

    reason: str
    at: str


def tell(volume: protocols.Volume, reason: errors.OptionError) -> None:
    """Tell the tenant why a volume is not attached.

    A failure to do so is logged and not raised: it must not hide the refusal.

    :param volume: the volume as in the database, with the context of the
        request
    """
    user_messages.refused(volume, user_messages.Operation.ATTACHMENT, reason)
    if any(
        each.instance_uuid
        and each.attach_status == fields.VolumeAttachStatus.ATTACHED
        for each in volume.volume_attachment
    ):
        return
    entry = {
        wire.RECORD_ATTACH_REFUSED: record.shortened(str(reason)),
        wire.RECORD_ATTACH_REFUSED_AT: f'{timeutils.utcnow().isoformat()}Z',
    }
    try:
        db.volume_admin_metadata_update(
            context.get_admin_context(), volume.id, entry, False
        )
    except Exception:
        LOG.exception('Could not record why volume %s was refused', volume.id)


def forget(volume_id: str) -> None:
    """Remove the record of a refusal, after the volume was attached.

    A failure is logged and not raised: it does not affect the attachment.
    """
    admin = context.get_admin_context()
    try:
        for key in (wire.RECORD_ATTACH_REFUSED, wire.RECORD_ATTACH_REFUSED_AT):
            db.volume_admin_metadata_delete(admin, volume_id, key)
    except Exception:
        LOG.exception(
            'Could not remove the refusal from the record of volume %s',
            volume_id,
        )


def of_volume(
    admin_metadata: Mapping[str, str],
) -> Refusal | None:
    """Return the recorded refusal; None if there is none."""
    reason = admin_metadata.get(wire.RECORD_ATTACH_REFUSED)
    at = admin_metadata.get(wire.RECORD_ATTACH_REFUSED_AT)
    return Refusal(reason, at) if reason and at else None
