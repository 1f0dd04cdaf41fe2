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

"""The trash of a pool, through which librbd removes each image."""

from typing import Any

from glance_store import exceptions
from glance_store import i18n
from glance_store._drivers import rbd as stock

#: The RADOS object that lists it; librbd makes it at the first removal.
TRASH = 'rbd_trash'


def exists(ioctx: Any) -> bool:
    """Return whether a pool has its trash.

    At its quota a pool without can't get one: librbd then removes no image,
    and says that there is none.
    """
    try:
        ioctx.stat(TRASH)
    except stock.rados.ObjectNotFound:
        return False
    return True


def check_gone(librbd: Any, ioctx: Any, name: str) -> None:
    """Check an image that librbd did not find when it was to remove it.

    :param librbd: ``rbd.RBD``
    :raises glance_store.exceptions.BackendException: if it is there, and
        could not be moved to a trash that the pool lacks
    """
    if not exists(ioctx) and name in librbd.list(ioctx):
        raise exceptions.BackendException(
            i18n._(
                'RBD image %s cannot be removed: its pool is full, and no '
                'image was ever removed from it. Raise the quota or add '
                'storage, and delete it again'
            )
            % name
        )
