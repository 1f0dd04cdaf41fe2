#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Reasons why an RBD image cannot be converted."""

from collections.abc import Iterable
from typing import Any

# The namespace of user snapshots, and the pool ID that librbd returns for an
# image without a group.
_USER = 0
_NO_POOL = -1

MIGRATING = 'the RBD image is being migrated by another program'
SNAPSHOTS = (
    'the RBD image has snapshots of a group, or deleted snapshots that clones '
    'require'
)
CLONES = 'the RBD image has clones; flatten or delete them first'
GROUP = 'the RBD image belongs to a group'
MIRRORED = 'the RBD image is mirrored'
IN_USE = 'a client has the RBD image open; detach the volume first'


def of_image(image: Any, librbd: Any) -> str | None:
    """Return why an open image cannot be converted; None if it can.

    An image with clones is refused: the clones may be attached, and librbd
    would change their headers while clients have them open.

    :param librbd: the module ``rbd``
    """
    if image.features() & librbd.RBD_FEATURE_MIGRATING:
        return MIGRATING
    snapshots = list(image.list_snaps())
    if any(each.get('namespace', _USER) != _USER for each in snapshots):
        return SNAPSHOTS
    if image.group()['pool'] != _NO_POOL:
        return GROUP
    mirrored = image.mirror_image_get_info()['state']
    if mirrored != librbd.RBD_MIRROR_IMAGE_DISABLED:
        return MIRRORED
    return CLONES if has_clones(image, snapshots) else None


def has_clones(image: Any, snapshots: Iterable[Any]) -> bool:
    """Return whether a snapshot of an open image has clones."""
    try:
        for each in snapshots:
            image.set_snap(each['name'])
            if list(image.list_children2()):
                return True
    finally:
        image.set_snap(None)
    return False
