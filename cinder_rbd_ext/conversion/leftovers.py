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


"""Repairs of interrupted migrations that librbd itself cannot continue.

Each step of librbd changes several objects. If a process is killed between two
of these changes, it leaves an image in the trash that neither ``rbd
migration`` nor ``rbd trash`` can handle. The repairs call the methods of the
object class ``rbd``, as librbd does.
"""

import contextlib
import struct
from typing import Any

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_CLASS = 'rbd'


def _text(text: str) -> bytes:
    """Return a string as the object class ``rbd`` encodes it."""
    data = text.encode()
    return struct.pack('<I', len(data)) + data


class Leftovers:
    """Repairs interrupted steps. Every repair can be repeated safely.

    :param driver: the driver, which provides the modules ``rados`` and ``rbd``
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def relink(self, ioctx: Any, name: str, source_id: str) -> None:
        """Restore an image that was moved to the trash for a migration.

        ``prepare`` moves it there before it records the migration.

        :raises rados.ObjectNotFound: if the image does not exist
        """
        ioctx.stat(f'rbd_header.{source_id}')
        LOG.warning(
            'Restoring image %(name)s (%(source)s), whose conversion was '
            'interrupted before librbd recorded it',
            {'source': source_id, 'name': name},
        )
        ident, called = _text(source_id), _text(name)
        ioctx.write_full(f'rbd_id.{name}', b'')
        ioctx.execute(f'rbd_id.{name}', _CLASS, 'set_id', ident)
        with contextlib.suppress(self._driver.rados.ObjectExists):
            ioctx.execute(
                'rbd_directory', _CLASS, 'dir_add_image', called + ident
            )
        with contextlib.suppress(self._driver.rados.ObjectNotFound):
            ioctx.execute('rbd_trash', _CLASS, 'trash_remove', ident)

    def removed(self, ioctx: Any, name: str, source_id: str) -> bool:
        """Remove the former image if it is no longer part of a migration.

        ``commit`` first separates the two images and then removes the former
        one.

        :param name: of the new image
        :returns: False if the former image still has this name
        """
        rbd, rados = self._driver.rbd, self._driver.rados
        with rbd.Image(ioctx, name, read_only=True) as image:
            if image.id() == source_id:
                return False
        header = f'rbd_header.{source_id}'
        try:
            ioctx.stat(header)
        except rados.ObjectNotFound:
            return True
        LOG.warning(
            'Removing the former image %(source)s of %(name)s, which an '
            'interrupted conversion left in the trash',
            {'source': source_id, 'name': name},
        )
        with contextlib.suppress(rados.ObjectNotFound):
            ioctx.execute(header, _CLASS, 'migration_remove', b'')
        with rbd.Image(ioctx, image_id=source_id) as source:
            for each in list(source.list_snaps()):
                if source.is_protected_snap(each['name']):
                    source.unprotect_snap(each['name'])
                source.remove_snap(each['name'])
        rbd.RBD().trash_remove(ioctx, source_id, force=True)
        return True
