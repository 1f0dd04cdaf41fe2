# SPDX-License-Identifier: Apache-2.0

"""The guest with fio, for ``cinder-rbd-ext bench``.

Its initramfs also contains fio, hdparm and ``mkfs.ext4``, their libraries, and
the shell script that ``bench`` starts in a guest. Debian's fio needs many
libraries, among them those of Ceph, so that the image has its own name and is
created on demand.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

from sandbox_cloud import errors
from sandbox_cloud import guest_image

PROGRAM = (
    pathlib.Path(__file__).parents[2]
    / 'rbd_volume_tools/bench/guest'
    / 'measure.sh'
)

#: The programs of the script, and their Debian packages.
_PROGRAMS = {
    'fio': 'fio',
    'hdparm': 'hdparm',
    'mkfs.ext4': 'e2fsprogs',
}


def image(folder: pathlib.Path, log: pathlib.Path) -> guest_image.GuestImage:
    """Return the image in a folder.

    :param log: the file for the output of tools
    :raises SandboxError: if fio is not installed
    """
    return guest_image.GuestImage(folder, log, 'fio', _files())


def _files() -> dict[str, pathlib.Path]:
    """Return the files by their paths in the initramfs."""
    files = {'measure': PROGRAM}
    for name, package in _PROGRAMS.items():
        program = shutil.which(name)
        if program is None:
            raise errors.SandboxError(
                f'{name} is not installed. Install the Debian package '
                f'{package}'
            )
        files[f'bin/{name}'] = pathlib.Path(program)
        files.update(libraries(program))
    return files


def libraries(program: str) -> dict[str, pathlib.Path]:
    """Return the libraries of a program by their paths without the root."""
    shown = subprocess.run(
        ['ldd', program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        path.removeprefix('/'): pathlib.Path(path)
        for path in re.findall(r'(/\S+) \(0x', shown)
    }
