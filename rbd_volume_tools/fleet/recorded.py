# SPDX-License-Identifier: Apache-2.0

"""Corrects the record of a volume's image after a change of its features.

The record is in the admin metadata of the volume, which no API changes. This
is the only part of the package that needs Cinder and its configuration.
"""

from collections.abc import Callable

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_tools.command_line import databases

#: Called with the ID of a volume and the features of its image. Returns
#: whether the volume has a record, which then is correct.
Recorder = Callable[[str, features.Features], bool]


def recorder(config_file: str) -> Recorder:
    """Return a function that corrects records in the database of cinder.conf.

    :raises ValueError: if Cinder is not installed
    """
    with databases.needed('Cinder'):
        from cinder import objects
        from cinder.common import config

    config.CONF(
        [],
        project='cinder',
        default_config_files=[config_file],
        default_config_dirs=[],
    )
    objects.register_all()
    return correct


def correct(volume_id: str, enabled: features.Features) -> bool:
    """Correct the features in the record of a volume, if it has one.

    :returns: whether it has one
    """
    from cinder import context
    from cinder import exception
    from cinder.db import api as db

    admin = context.get_admin_context()
    try:
        recorded = db.volume_admin_metadata_get(admin, volume_id)
    except exception.VolumeNotFound:
        return False
    if keys.FEATURES not in recorded:
        return False
    entry = {keys.FEATURES: features.joined(enabled)}
    db.volume_admin_metadata_update(admin, volume_id, entry, False)
    return True
