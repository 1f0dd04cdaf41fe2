# SPDX-License-Identifier: Apache-2.0

"""The commit: one conditional update of Cinder's row replaces an image.

The row names the image of a volume (``_name_id``). A request that replaces the
image makes the new one under its own name, ``volume-<uuid>``. The uuid is also
the token of the request, in a column of the row that RBD does not use.

==========  ============================  ====================================
Step        Before it                     After a kill, or a failure
==========  ============================  ====================================
begin       The row names the image.      The token, perhaps the marker that
                                          names both: the volume is unchanged.
commit      The copy is verified. It and  The row names one of the two images,
            the image are locked. The     and nothing shows which one was
            copy was opened just before.  answered: it is read.
==========  ============================  ====================================

The update expects the image before, the token and the status of the request.
Whoever recovers voids the token first (:func:`outcome`). Then the commit of a
service that was paused cannot take effect any more, and the row tells which of
the two images is not needed. No clock takes part in this.

The update does not contain the status: Cinder's manager writes it afterwards.
"""

from collections.abc import Mapping
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from oslo_log import log as logging

from cinder_rbd_ext import late_request
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import marker

LOG = logging.getLogger(__name__)

# Attempts to read the row after a commit without an answer, and the seconds
# between them.
_ATTEMPTS = 5
_PAUSE = 2.0


class CopyFailed(exception.VolumeBackendAPIException):
    """A copy is not like its source, or the source has changed."""

    message = '%(reason)s'


class UnknownOutcome(exception.VolumeBackendAPIException):
    """The database did not tell whether a commit took effect."""

    message = (
        'The database did not report which RBD image volume %(id)s has. The '
        'next request, or recovery, reads it again'
    )


def begin(volume: protocols.Volume, mark: marker.Marker) -> None:
    """Write the token and the marker of a request that is about to copy.

    :param volume: the manager's object
    :raises VolumeBackendAPIException: if the row has changed since the request
    """
    token = {'provider_geometry': mark.image}
    # A service that was paused does not end a request that has begun since.
    expected = {**_requested(volume), 'provider_geometry': None}
    if not volume.conditional_update(token, expected):
        raise late_request.ended(volume)
    marker.write(volume.id, mark)


def _requested(volume: protocols.Volume) -> dict[str, Any]:
    """Return the columns of a row that is as it was when requested."""
    names = '_name_id', 'status', 'migration_status', 'host'
    return {name: getattr(volume, name) for name in names}


def commit(
    driver: protocols.Driver,
    volume: protocols.Volume,
    mark: marker.Marker,
    values: Mapping[str, Any],
) -> bool:
    """Make the row of a volume name the new image; return whether it does.

    The manager's object has the new values then, so that what Cinder does
    with it afterwards applies to the new image.

    :param values: the other columns that change with it
    :raises CopyFailed: if the new image does not exist any more
    :raises UnknownOutcome: if the database does not answer
    """
    # The update itself would also name an image that was removed.
    with driver.images.opened(
        mark.name, pool=mark.pool, read_only=True
    ) as image:
        if image.id() != mark.image_id:
            raise CopyFailed(reason=f'{mark.name} is another image')
    changed = {**values, '_name_id': mark.image, 'provider_geometry': None}
    expected = {**_requested(volume), 'provider_geometry': mark.image}
    try:
        if volume.conditional_update(changed, expected):
            return True
    except Exception:
        LOG.exception('The update of volume %s has no answer', volume.id)
    if _outcome_repeated(volume.id, mark) != mark.image:
        return False
    for name, value in changed.items():
        setattr(volume, name, value)
    volume.obj_reset_changes(changed.keys())
    return True


def _outcome_repeated(volume_id: str, mark: marker.Marker) -> str | None:
    for _ in range(_ATTEMPTS):
        try:
            return outcome(volume_id, mark)
        except Exception:
            LOG.exception('Could not read volume %s', volume_id)
            time.sleep(_PAUSE)
    raise UnknownOutcome(id=volume_id)


def outcome(volume_id: str, mark: marker.Marker) -> str | None:
    """Void the token of a request; return the uuid in the image's name.

    Afterwards, the commit of the request cannot take effect any more.

    :returns: None if the volume does not exist any more
    """
    admin = context.get_admin_context()
    handle = objects.Volume(admin, id=volume_id)
    handle.conditional_update(
        {'provider_geometry': None},
        {'provider_geometry': mark.image},
        reflect_changes=False,
    )
    try:
        return str(record.stored_volume(volume_id).name_id)
    except exception.VolumeNotFound:
        return None


def void(volume: protocols.Volume) -> None:
    """Void the token of a request that has lost its lock.

    Whoever holds the lock of the volume and uses its image calls this: a copy
    that was made before must not replace the image.

    :param volume: as in the database, read inside the lock
    """
    token = volume.provider_geometry
    if token and volume.conditional_update(
        {'provider_geometry': None}, {'provider_geometry': token}
    ):
        LOG.warning('Volume %s: the request that copies it ends', volume.id)
