# SPDX-License-Identifier: Apache-2.0

"""The guest with a file system, for ``benchmarks/guest_discard.py``.

Its initramfs also contains ``mkfs.ext4`` and initramfs/trim, which the guest
starts instead of waiting for commands.
"""

from __future__ import annotations

import pathlib
import shutil

from sandbox_cloud import errors
from sandbox_cloud import fio_image
from sandbox_cloud import guest_image

PROGRAM = guest_image.INIT.with_name('trim')


def image(folder: pathlib.Path, log: pathlib.Path) -> guest_image.GuestImage:
    """Return the image in a folder.

    :param log: the file for the output of tools
    :raises SandboxError: if ``mkfs.ext4`` is not installed
    """
    return guest_image.GuestImage(folder, log, 'ext4', _files())


def _files() -> dict[str, pathlib.Path]:
    """Return the files by their paths in the initramfs."""
    program = shutil.which('mkfs.ext4')
    if program is None:
        raise errors.SandboxError(
            'mkfs.ext4 is not installed. Install the Debian package e2fsprogs'
        )
    return {
        'measure': PROGRAM,
        'bin/mkfs.ext4': pathlib.Path(program),
        **fio_image.libraries(program),
    }
