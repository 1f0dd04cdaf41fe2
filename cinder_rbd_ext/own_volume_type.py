# SPDX-License-Identifier: Apache-2.0

"""The volume type of a back end, which the service can create."""

from cinder import context
from cinder import exception
from cinder.volume import volume_types
from oslo_db import exception as db_exception
from oslo_log import log

from rbd_volume_options import keys

LOG = log.getLogger(__name__)
_NAME = 'volume_backend_name'


def ensure(backend: str, enables_object_map: bool) -> None:
    """Create a volume type for a back end that has none.

    Services that start at once may each try; Cinder refuses the second type
    of a name. Nothing that exists is changed, and a failure does not keep the
    service from its work.

    :param backend: its ``volume_backend_name``
    :param enables_object_map: whether the type requests the object map
    """
    admin = context.get_admin_context()
    specs = {_NAME: backend}
    if enables_object_map:
        specs[keys.OBJECT_MAP] = 'true'
    try:
        types = volume_types.get_all_types(admin, list_result=True)
        for kind in types:
            linked = (kind.get('extra_specs') or {}).get(_NAME)
            if backend in (linked, kind['name']):
                return
        volume_types.create(
            *(admin, backend, specs),
            description='Created by cinder-volume for its back end',
        )
    except (exception.CinderException, db_exception.DBError) as error:
        LOG.warning(
            'Could not create a volume type for the back end %s: %s',
            *(backend, error),
        )
        return
    LOG.info('Created the volume type %s for its back end', backend)
