# SPDX-License-Identifier: Apache-2.0

"""Volume types that are visible to the caller of a request."""

from typing import Any

from cinder import exception
from cinder import objects
from cinder.volume import volume_types
from oslo_utils import uuidutils

from cinder_rbd_ext import protocols


def find(context: protocols.Context, identity: str) -> Any:
    """Return the volume type with the id or name in a request.

    Cinder looks up a name among the types of all projects. A private type of
    other projects is reported as not found, because messages would show its
    extra specs.

    :raises VolumeTypeNotFound: for a type that does not exist for the caller
    :raises VolumeTypeNotFoundByName: for the same reason
    """
    volume_type = objects.VolumeType.get_by_name_or_id(context, identity)
    try:
        # By id, Cinder returns only types that are visible to the caller.
        volume_types.get_volume_type(context, volume_type.id)
    except exception.VolumeTypeNotFound:
        if uuidutils.is_uuid_like(identity):
            raise exception.VolumeTypeNotFound(
                volume_type_id=identity
            ) from None
        raise exception.VolumeTypeNotFoundByName(
            volume_type_name=identity
        ) from None
    return volume_type


def of_new_volume(context: protocols.Context, wanted: object) -> Any:
    """Return the type of a new volume, as Cinder finds it.

    :param wanted: the type in the request or of the source, if any
    :returns: None if Cinder refuses the type
    :raises NotFound: for a type that does not exist for the caller
    """
    if wanted is None or wanted == '':
        return _default_type(context)
    if not isinstance(wanted, str):
        return None
    return find(context, wanted)


def _default_type(context: protocols.Context) -> Any:
    try:
        return volume_types.get_default_volume_type(context)
    except exception.VolumeTypeDefaultMisconfiguredError:
        return None
