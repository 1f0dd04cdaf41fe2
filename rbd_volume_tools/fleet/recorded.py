# SPDX-License-Identifier: Apache-2.0

"""Corrects the record of a volume's image after a change of its features.

The record is in the row of the volume, which no API changes. This
is the only part of the package that needs Cinder and its configuration.
"""

from collections.abc import Callable
import dataclasses

from rbd_volume_options import features
from rbd_volume_options import image_record
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
    from cinder import objects

    admin = context.get_admin_context()
    while True:
        try:
            volume = objects.Volume.get_by_id(admin, volume_id)
        except exception.VolumeNotFound:
            return False
        recorded = image_record.read(volume)
        if recorded is None:
            return False
        state = dataclasses.replace(recorded.state, image_features=enabled)
        new = dataclasses.replace(recorded, state=state)
        # Another service may record an image at the same time.
        if volume.conditional_update(
            {'provider_id': new.text(volume.name_id)},
            {'provider_id': volume.provider_id},
        ):
            return True
