# SPDX-License-Identifier: Apache-2.0

"""The guest: a disk image that boots in seconds and reports its disks.

It consists of a Debian kernel and one shell script on busybox, initramfs/init,
so that it is easy to read. It is created once and kept next to the virtual
environments.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import gzip
import hashlib
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

from sandbox_cloud import errors

INIT = pathlib.Path(__file__).parent / 'initramfs' / 'init'
_BUSYBOX = pathlib.Path('/bin/busybox')
_MBR = pathlib.Path('/usr/lib/SYSLINUX/mbr.bin')
# Depends on the newest kernel.
_KERNEL = 'linux-image-cloud-amd64'
# These are in the order of their dependencies.
_MODULES = (
    *('virtio_ring', 'virtio', 'virtio_pci_modern_dev'),
    *('virtio_pci_legacy_dev', 'virtio_pci', 'virtio_blk'),
    *('button', 'evdev'),
)
_SYSLINUX = """\
DEFAULT guest
LABEL guest
LINUX /vmlinuz
INITRD /initrd.gz
APPEND console=ttyS0 quiet loglevel=1 panic=5
"""
_MIB = 2**20
_SIZE = 24 * _MIB
# The start of the only partition: sector and byte.
_SECTOR = 512
_FIRST = 2048


class GuestImage:
    """The disk image in a folder, created if it is missing.

    :param folder: the folder of images; contains one for each state of the
        sources
    :param log: the file for the output of tools
    :param name: the beginning of the image's file name
    :param more: files that the initramfs contains in addition, by their paths
        in it
    """

    def __init__(
        self,
        folder: pathlib.Path,
        log: pathlib.Path,
        name: str = 'tiny',
        more: Mapping[str, pathlib.Path] | None = None,
    ) -> None:
        self.folder = folder
        self._log = log
        self._name = name
        self._more = more or {}

    @property
    def path(self) -> pathlib.Path:
        """The image, a raw disk."""
        digest = hashlib.sha256(pathlib.Path(__file__).read_bytes())
        digest.update(INIT.read_bytes())
        for name, path in sorted(self._more.items()):
            digest.update(name.encode() + path.read_bytes())
        return self.folder / f'{self._name}-{digest.hexdigest()[:12]}.raw'

    def make(self) -> pathlib.Path:
        """Return the image; create it if it is missing."""
        target = self.path
        if target.exists():
            return target
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob(f'{self._name}-*.raw'):
            old.unlink()
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            scratch = pathlib.Path(name)
            kernel = self._unpack_kernel(scratch)
            self._initramfs(scratch, kernel)
            self._disk(scratch)
            (scratch / 'disk').replace(target)
        return target

    def _unpack_kernel(self, scratch: pathlib.Path) -> pathlib.Path:
        """Unpack the Debian kernel, do not install it; return its folder."""
        (package,) = (
            name
            for name in self._depends(_KERNEL)
            if name.startswith('linux-image-')
        )
        # Newer kernels consist of several packages of the same version.
        version = package.removeprefix('linux-image')
        parts = [x for x in self._depends(package) if x.endswith(version)]
        download = ('apt-get', '--quiet', 'download', package, *parts)
        self._run(*download, cwd=scratch)
        root = scratch / 'kernel'
        for deb in scratch.glob('*.deb'):
            self._run('dpkg-deb', '--extract', str(deb), str(root))
        (vmlinuz,) = root.rglob('vmlinuz*')
        shutil.copy(vmlinuz, scratch / 'vmlinuz')
        return root

    def _depends(self, package: str) -> list[str]:
        shown = self._run('apt-cache', 'depends', '--important', package)
        return [
            line.split()[1]
            for line in shown.splitlines()
            if line.strip().startswith('Depends: ')
        ]

    def _initramfs(self, scratch: pathlib.Path, kernel: pathlib.Path) -> None:
        root = scratch / 'initramfs'
        folder = root / 'modules'
        folder.mkdir(parents=True)
        (root / 'bin').mkdir()
        shutil.copy(_BUSYBOX, root / 'bin' / 'busybox')
        shutil.copy(INIT, root / 'init')
        (root / 'init').chmod(0o755)
        loaded = modules(kernel, _MODULES)
        for name, content in loaded.items():
            (folder / f'{name}.ko').write_bytes(content)
        for inside, path in self._more.items():
            (root / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / inside)
        (folder / 'order').write_text(''.join(f'{x}\n' for x in loaded))
        paths = sorted(str(path.relative_to(root)) for path in root.rglob('*'))
        done = subprocess.run(
            ['cpio', '--quiet', '--create', '--format=newc', '--owner=0:0'],
            input=''.join(f'{path}\n' for path in paths).encode(),
            cwd=root,
            stdout=subprocess.PIPE,
            check=True,
        )
        (scratch / 'initrd.gz').write_bytes(gzip.compress(done.stdout, 6))

    def _disk(self, scratch: pathlib.Path) -> None:
        """Write boot loader, kernel and initramfs to a disk."""
        disk = scratch / 'disk'
        offset = _FIRST * _SECTOR
        content = (scratch / 'initrd.gz').stat().st_size
        # The kernel needs less than half of the smallest size.
        size = _SIZE + content // _MIB * _MIB
        with disk.open('wb') as out:
            out.write(_mbr(size // _SECTOR))
            out.truncate(size)
        (scratch / 'syslinux.cfg').write_text(_SYSLINUX)
        blocks = str((size - offset) // 1024)
        self._run(
            *('mkfs.fat', '-F', '16', '-s', '4', '-h', str(_FIRST)),
            *(f'--offset={_FIRST}', str(disk), blocks),
        )
        self._run(
            *('mcopy', '-i', f'{disk}@@{offset}'),
            *(str(scratch / 'vmlinuz'), str(scratch / 'initrd.gz')),
            *(str(scratch / 'syslinux.cfg'), '::'),
        )
        self._run('syslinux', '--offset', str(offset), '--install', str(disk))

    def _run(self, *command: str, cwd: pathlib.Path | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, 'LC_ALL': 'C.UTF-8', 'MTOOLS_SKIP_CHECK': '1'},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        with self._log.open('a') as out:
            out.write(f'{" ".join(command)}\n{done.stdout}{done.stderr}')
        if done.returncode:
            raise errors.SandboxError(
                f'{command[0]} failed with {done.returncode}: '
                f'{done.stderr.strip()}; see {self._log}'
            )
        return done.stdout


def modules(kernel: pathlib.Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the content of modules of a kernel, in the order of their names.

    Newer kernels contain some of the modules, and compress the others.

    :param kernel: the folder with the files of its package
    """
    (listing,) = kernel.rglob('modules.builtin')
    builtin = {pathlib.Path(line).stem for line in listing.open()}
    contents = {}
    for name in names:
        if name in builtin:
            continue
        (path,) = kernel.rglob(f'{name}.ko*')
        contents[name] = path.read_bytes()
        if path.suffix == '.xz':
            contents[name] = lzma.decompress(contents[name])
    return contents


def _mbr(sectors: int) -> bytes:
    """Return a boot sector with one active FAT16 partition."""
    code = _MBR.read_bytes().ljust(446, b'\0')
    nowhere = b'\xfe\xff\xff'
    entry = struct.pack(
        *('<B3sB3sII', 0x80, nowhere, 0x0E, nowhere),
        *(_FIRST, sectors - _FIRST),
    )
    return code + entry.ljust(64, b'\0') + b'\x55\xaa'
