# SPDX-License-Identifier: Apache-2.0

"""Measure what fstrim in a guest frees in the cluster.

    python3 benchmarks/guest_discard.py

It starts a cluster of its own with one OSD, and QEMU with a disk for each
layout and discard granularity. The disks have the properties that libvirt
writes for ``discard='unmap'`` and ``<blockio discard_granularity=...>``. In
the guest, every second file of an ext4 file system is deleted, and ``fstrim``
discards the free space. The result is how much less BlueStore stores then, in
per cent of the size of the deleted files, and the number of discards that the
guest sent. QEMU emulates the guest. It needs the programs of Ceph and QEMU,
and e2fsprogs. The cluster and the guest are removed at the end.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import itertools
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / 'tools')]

import rados  # noqa: E402
import rbd  # noqa: E402

from rbd_volume_options import discard_granularity  # noqa: E402
from rbd_volume_options import layout  # noqa: E402
from sandbox_cloud import ceph  # noqa: E402
from sandbox_cloud import ext4_image  # noqa: E402

_KIB, _MIB = 2**10, 2**20
_POOL = 'volumes'
_LAYOUTS = {
    'default': layout.ImageLayout.of(4 * _MIB, 4 * _MIB, 1),
    '64 KiB x 8': layout.ImageLayout.of(4 * _MIB, 64 * _KIB, 8),
}
_NONE = 'none'
#: The disk with the commands for the guest.
_CONTROL = 'control'
#: Numbers of files, and MiB of each.
_FILES = ((2, 32), (32, 1))
_PATIENCE = 600.0


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk of the guest, and the files that it gets.

    :ivar granularity: a value of the key; ``none`` for that of QEMU
    """

    layout: str
    granularity: str
    files: int
    mib: int

    @property
    def deleted(self) -> int:
        """The bytes in the files that are deleted."""
        return self.files // 2 * self.mib * _MIB

    def words(self, name: str, conf: pathlib.Path) -> list[str]:
        """Return the options of QEMU, as from libvirt."""
        storage = {
            'driver': 'rbd',
            'pool': _POOL,
            'image': name,
            'conf': str(conf),
            'user': 'admin',
            'cache': {'direct': True},
            'discard': 'unmap',
            'node-name': f'{name}-storage',
        }
        disk = {
            'driver': 'raw',
            'file': storage['node-name'],
            'cache': {'direct': True},
            'discard': 'unmap',
            'node-name': name,
        }
        device = f'virtio-blk-pci,drive={name},serial={name}'
        if self.granularity != _NONE:
            size = discard_granularity.in_bytes(
                self.granularity, _LAYOUTS[self.layout]
            )
            device += f',discard_granularity={size}'
        return [
            *('-blockdev', json.dumps(storage)),
            *('-blockdev', json.dumps(disk)),
            *('-device', device),
        ]


class Cluster:
    """The cluster, its images and its counters."""

    def __init__(self, files: ceph.CephCluster) -> None:
        self.conf = files.conf
        self._client = rados.Rados(conffile=str(files.conf), rados_id='admin')
        self._client.connect()
        self._ioctx = self._client.open_ioctx(_POOL)

    def create(self, name: str, of: layout.ImageLayout) -> None:
        """Create an image."""
        rbd.RBD().create(
            self._ioctx,
            name,
            512 * _MIB,
            of.order,
            old_format=False,
            stripe_unit=of.stripe_unit,
            stripe_count=of.stripe_count,
        )

    def write(self, name: str, content: bytes) -> None:
        """Write to the beginning of an image that a guest uses."""
        with rbd.Image(self._ioctx, name) as image:
            image.write(content, 0)

    def stored(self) -> int:
        """Return the bytes of data that BlueStore stores."""
        request = json.dumps({'prefix': 'perf dump', 'logger': 'bluestore'})
        status, shown, message = self._client.osd_command(0, request, b'')
        if status:
            raise RuntimeError(message)
        return int(json.loads(shown)['bluestore']['bluestore_stored'])


class Guest:
    """A running guest, which executes initramfs/trim."""

    def __init__(self, child: Any, folder: pathlib.Path, to: Cluster) -> None:
        self._child = child
        self._folder = folder
        self._cluster = to
        self._numbers = itertools.count(1)

    def connect(self) -> None:
        """Wait until the guest executes commands."""
        self._wait(lambda: 'trim: ready' in self._console())

    def ask(self, disk: str, command: str) -> str:
        """Send a command; return the answer.

        :raises RuntimeError: if the command failed
        """
        number = next(self._numbers)
        line = f'trim, {number} {disk} {command}\n'
        self._cluster.write(_CONTROL, line.encode().ljust(512, b'\0'))
        printed = self._wait(
            lambda: re.search(
                rf'^trim: {number} (\w+) ?(.*?)\r?\n', self._console(), re.M
            )
        )
        if printed[1] != 'done':
            raise RuntimeError(f'{command}: {printed[2]}')
        return str(printed[2])

    def _console(self) -> str:
        return (self._folder / 'console').read_text(errors='replace')

    def _wait(self, done: Callable[[], Any]) -> Any:
        limit = time.monotonic() + _PATIENCE
        while not (result := done()):
            if self._child.poll() is not None:
                text = (self._folder / 'qemu.log').read_text()
                raise RuntimeError(f'QEMU ended: {text}')
            if time.monotonic() > limit:
                raise RuntimeError('the guest does not answer')
            time.sleep(0.2)
        return result


@contextlib.contextmanager
def running(
    disks: dict[str, Disk], to: Cluster, folder: pathlib.Path
) -> Iterator[Guest]:
    """Yield a guest with disks."""
    boot = ext4_image.image(folder / 'guest', folder / 'log').make()
    (folder / 'console').touch()
    command = [
        *('qemu-system-x86_64', '-accel', 'tcg', '-m', '256'),
        *('-nodefaults', '-display', 'none', '-serial', 'file:console'),
        *('-drive', f'file={boot},format=raw,if=none,id=boot,snapshot=on'),
        *('-device', 'virtio-blk-pci,drive=boot,bootindex=0'),
        *Disk('default', _NONE, 0, 0).words(_CONTROL, to.conf),
        *(
            word
            for name, disk in disks.items()
            for word in disk.words(name, to.conf)
        ),
    ]
    with (folder / 'qemu.log').open('wb') as log:
        child = subprocess.Popen(
            # A killed benchmark leaves no guest either.
            ['setpriv', '--pdeathsig', 'KILL', *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        guest = Guest(child, folder, to)
        guest.connect()
        yield guest
    finally:
        child.kill()
        child.wait()


def measure(
    guest: Guest, to: Cluster, name: str, disk: Disk
) -> dict[str, Any]:
    """Return what fstrim frees of the deleted files."""
    guest.ask(name, f'fill {disk.files} {disk.mib}')
    guest.ask(name, 'delete')
    before = to.stored()
    discards, reported = guest.ask(name, 'trim').split()
    return {
        **dataclasses.asdict(disk),
        'freed': (before - to.stored()) / disk.deleted,
        'discards': int(discards),
        'reported': int(reported),
    }


def main() -> int:
    """Run the benchmark; print the figures."""
    # SIGTERM removes the cluster and the guest, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--granularities',
        nargs='+',
        default=[_NONE, '64K', discard_granularity.OF_LAYOUT],
        help=f'values of the key, or {_NONE}',
    )
    parser.add_argument('--json', help='file for the results')
    args = parser.parse_args()
    disks = {
        f'disk{number}': Disk(where, granularity, *files)
        for number, (where, granularity, files) in enumerate(
            itertools.product(_LAYOUTS, args.granularities, _FILES)
        )
    }
    folder = pathlib.Path(tempfile.mkdtemp(prefix='trim-', dir='/var/tmp'))
    results = []
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(
            stack.enter_context(
                ceph.CephCluster(folder / 'c', pools=(_POOL,), block_gib=10)
            )
        )
        cluster.create(_CONTROL, _LAYOUTS['default'])
        for name, disk in disks.items():
            cluster.create(name, _LAYOUTS[disk.layout])
        guest = stack.enter_context(running(disks, cluster, folder))
        for name, disk in disks.items():
            row = measure(guest, cluster, name, disk)
            results.append(row)
            print(
                f'{disk.layout}, granularity {disk.granularity} '
                f'({row["reported"]}), {disk.files // 2} files of {disk.mib} '
                f'MiB: {row["freed"]:.1%} freed, {row["discards"]} discards',
                flush=True,
            )
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results))
    return 0


if __name__ == '__main__':
    sys.exit(main())
