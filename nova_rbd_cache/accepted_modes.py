# SPDX-License-Identifier: Apache-2.0

"""The cache modes that this host accepted for the volumes of its servers.

A server keeps a mode that the operator removes from ``allowed_modes``. libvirt
may have lost the guest when Nova creates it again, so each mode is in a file
in the folder of the server. Nova removes that folder with the server, and
moves it with a server that is resized.
"""

import os
import pathlib

import nova.conf
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_FOLDER = 'rbd_accepted_modes'


class AcceptedModes:
    """The accepted modes, by the ID of the server and the RBD image.

    Cinder migrates a volume to the image of another one, which then gets the
    ID of the volume. The name of the image stays.
    """

    def __init__(self) -> None:
        #: The modes of servers whose folder Nova removed in a rebuild.
        self._rebuilt: dict[pathlib.Path, str] = {}

    def add(self, server: str, image: str, mode: str) -> None:
        """Record the mode of an image; a failure is only logged."""
        file = _folder(server) / image
        new = file.with_suffix('.new')
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with new.open('w') as stream:
                stream.write(mode)
                stream.flush()
                # The record matters after the host has lost its power.
                os.fsync(stream.fileno())
            new.replace(file)
            self._rebuilt.pop(file, None)
        except OSError as error:
            LOG.warning(
                'Could not record cache mode %(mode)s of RBD image %(image)s: '
                '%(error)s. If [rbd_cache] allowed_modes is changed, its '
                'server may not start.',
                {'mode': mode, 'image': image, 'error': error},
            )

    def mode(self, server: str, image: str) -> str | None:
        """Return the recorded text, which may be damaged; None if unknown."""
        file = _folder(server) / image
        try:
            return file.read_text(encoding='ascii', errors='replace')
        except OSError:
            return self._rebuilt.get(file)

    def keep(self, server: str) -> None:
        """Keep the modes of a server while Nova rebuilds it."""
        for file in _folder(server).glob('*'):
            mode = self.mode(server, file.name)
            if mode is not None:
                self._rebuilt[file] = mode


def _folder(server: str) -> pathlib.Path:
    return pathlib.Path(nova.conf.CONF.instances_path, server, _FOLDER)
