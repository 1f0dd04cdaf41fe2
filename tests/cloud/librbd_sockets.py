# SPDX-License-Identifier: Apache-2.0

"""Admin sockets of librbd for the disks of guests.

QEMU opens a connection to Ceph for each disk, with its own configuration. The
sandbox gives each connection an admin socket.
"""

import contextlib
import json
import os
import pathlib
import socket
import struct
from typing import Any


def folder() -> pathlib.Path:
    """Return the folder of the admin sockets."""
    # Beside the cluster's folder: run/ceph/etc/ceph.conf.
    return pathlib.Path(os.environ['CEPH_CONF']).parents[2] / 'librbd'


def ask(path: pathlib.Path, prefix: str, **arguments: str) -> Any:
    """Send a command to an admin socket; return the answer.

    :raises OSError: if the process has ended
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(30)
        sock.connect(str(path))
        command = json.dumps({'prefix': prefix, **arguments})
        sock.sendall(command.encode() + b'\0')
        stream = sock.makefile('rb')
        (size,) = struct.unpack('>I', stream.read(4))
        return json.loads(stream.read(size))


class Disk:
    """A disk of a guest, as opened by librbd."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    @property
    def rbd_cache(self) -> bool:
        """Whether the librbd cache is enabled."""
        answer = ask(self._path, 'config get', var='rbd_cache')
        return bool(answer['rbd_cache'] == 'true')

    @property
    def counters(self) -> dict[str, int]:
        """The performance counters of librbd: ``wr``, ``flush`` and others."""
        (counters,) = (
            values
            for name, values in ask(self._path, 'perf dump').items()
            if name.startswith('librbd-')
        )
        return dict(counters)


def disk(image: str) -> Disk:
    """Return the disk that has an RBD image open.

    :param image: ``pool/name``
    """
    disks = []
    for path in folder().glob('*.asok'):
        # Killed guests leave their sockets behind.
        with contextlib.suppress(OSError):
            if f'rbd cache flush {image}' in ask(path, 'help'):
                disks.append(Disk(path))
    if len(disks) != 1:
        raise AssertionError(f'{len(disks)} guests have {image} open')
    return disks[0]
