# SPDX-License-Identifier: Apache-2.0

"""Requests of Cinder's volume manager that end after their volume has changed.

The manager holds an object of the volume, and after the driver's part it
writes a status from it: that of the end, or after a failure that before the
request. The service can have been paused so long that recovery, or an
administrator, has given the volume back meanwhile. It may be attached then.
"""

from cinder import exception
from cinder.objects import fields
from oslo_log import log as logging

from cinder_rbd_ext import protocols

LOG = logging.getLogger(__name__)

_STATUSES = ('status', 'migration_status')
# An attribute and not a field: Cinder stores the fields of the volume.
_ENDED = '_rbd_request_ended'


def guard(volume: protocols.Volume) -> None:
    """Have the manager write its next status only if the row has that of now.

    Other changes of the object are saved as usual.

    :param volume: the manager's object
    :raises VolumeBackendAPIException: if the request has ended
    """
    check(volume)
    release(volume)
    stock, expected = volume.save, {'status': volume.status}

    def save() -> None:
        changed = volume.cinder_obj_get_changes()
        if changed.keys().isdisjoint(_STATUSES):
            stock()
            return
        release(volume)
        columns = changed.keys() - set(volume.OPTIONAL_FIELDS)
        values = {name: changed[name] for name in columns}
        if volume.conditional_update(values, expected):
            stock()
            return
        _log(volume)
        volume.obj_reset_changes()

    volume.__dict__['save'] = save


def release(volume: protocols.Volume) -> None:
    """Have the manager save the object as usual."""
    volume.__dict__.pop('save', None)


def check(volume: protocols.Volume) -> None:
    """Check that no earlier part of the same request has ended it.

    :raises VolumeBackendAPIException: if one has
    """
    if _ENDED in volume.__dict__:
        raise ended(volume)


def ended(volume: protocols.Volume) -> exception.VolumeBackendAPIException:
    """Return the failure of a request that no longer applies to its volume.

    The manager saves nothing of its object any more.
    """

    def save() -> None:
        _log(volume)
        volume.obj_reset_changes()

    volume.__dict__['save'] = save
    volume.__dict__[_ENDED] = True
    return exception.VolumeBackendAPIException(
        data=f'Volume {volume.id} has changed since it was requested'
    )


def deletable(deleted: protocols.Volume | protocols.Snapshot) -> None:
    """Have the manager save a status in which a deletion can be repeated.

    Only an administrator can change ``error_deleting``.

    :param deleted: the manager's object of a volume or a snapshot
    """
    attributes = deleted.__dict__
    if _ENDED in attributes:
        return
    stock = deleted.save

    def save() -> None:
        attributes.pop('save', None)
        if deleted.status == fields.VolumeStatus.ERROR_DELETING:
            deleted.status = fields.VolumeStatus.ERROR
        stock()

    attributes['save'] = save


def _log(volume: protocols.Volume) -> None:
    LOG.warning(
        'Not saving the result of a request for volume %s, which has changed '
        'since',
        volume.id,
    )
