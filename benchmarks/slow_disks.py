# SPDX-License-Identifier: Apache-2.0

"""Run a command against a cluster whose disks are the limit.

    python3 benchmarks/slow_disks.py --osds 6 --bytes 10M --operations 100 -- \
        cinder-rbd-ext bench run benchmarks/slow-disks.yaml --pool volumes \
        --ceph-conf {conf} --ceph-user admin --output slow

On a small machine, OSDs on one fast disk share its processors, and no layout
can be faster than another. Here, each OSD has its own loop device, and the
kernel limits the bytes and the operations of this device in a second (blkio
throttling of cgroups version 1). OSDs then wait for their disks while others
work, as in a cluster with many disks. The network, caches of disks and
replication are not simulated: name the limits with each figure.

It needs root, loop devices and the programs of Ceph. ``{conf}`` in the command
is the path of ceph.conf. The cluster is removed at the end.
"""

import argparse
import contextlib
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / 'tools')]

from rbd_volume_options import sizes  # noqa: E402
from sandbox_cloud import ceph  # noqa: E402

_CGROUPS = pathlib.Path('/sys/fs/cgroup/blkio')
#: BlueStore's own metadata would otherwise pass through the page cache, whose
#: writes the kernel does not attribute to the OSD.
_SETTINGS = '\n[osd]\nbluefs buffered io = false\n'


class SlowCluster(ceph.CephCluster):
    """A cluster with a limited loop device for each OSD.

    :ivar limits: the limit of each file of the blkio controller
    """

    limits: dict[str, int]
    _stack: contextlib.ExitStack

    def _write_conf(self) -> None:
        super()._write_conf()
        with self.conf.open('a') as conf:
            conf.write(_SETTINGS)

    def _write_keys(self) -> pathlib.Path:
        """Create the devices too: the folders exist, and are not formatted."""
        keyring = super()._write_keys()
        for number in range(self.osds):
            folder = self.data / f'osd.{number}'
            disk = folder / 'disk'
            with disk.open('wb') as file:
                file.truncate(self._block)
            device = self._run(
                'losetup', '--find', '--show', '--direct-io=on', str(disk)
            ).strip()
            self._stack.callback(
                subprocess.run, ['losetup', '--detach', device], check=False
            )
            (folder / 'block').symlink_to(device)
            self._limit(number, device)
        return keyring

    def _limit(self, number: int, device: str) -> None:
        group = self._group(number)
        group.mkdir(exist_ok=True)
        self._stack.callback(group.rmdir)
        name = pathlib.Path(device).name
        ident = pathlib.Path('/sys/block', name, 'dev').read_text().strip()
        for file, limit in self.limits.items():
            (group / file).write_text(f'{ident} {limit}')

    def _group(self, number: int) -> pathlib.Path:
        return _CGROUPS / f'{self.root.name}-{number}'

    def daemons(self) -> dict[str, list[str]]:
        """Return the commands; each OSD enters its group first."""
        commands = super().daemons()
        for number, name in enumerate(n for n in commands if 'osd' in n):
            enter = f'echo $$ > {self._group(number)}/cgroup.procs; exec '
            commands[name] = ['sh', '-c', enter + shlex.join(commands[name])]
        return commands


def main() -> int:
    """Run the command; return its exit status."""
    # SIGTERM removes the cluster and its devices too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--osds', type=int, default=6)
    parser.add_argument('--bytes', default='20M', help='of each, in a second')
    parser.add_argument('--operations', type=int, default=200)
    parser.add_argument('command', nargs='+')
    chosen = parser.parse_args()
    bytes_a_second = sizes.parse_size('--bytes', chosen.bytes)
    limits = {
        f'blkio.throttle.{way}_{unit}_device': limit
        for way in ('read', 'write')
        for unit, limit in (
            ('bps', bytes_a_second),
            ('iops', chosen.operations),
        )
    }
    if not (_CGROUPS / next(iter(limits))).exists():
        parser.error(f'{_CGROUPS} has no throttling (cgroups version 1)')
    folder = pathlib.Path(tempfile.mkdtemp(prefix='slow-', dir='/var/tmp'))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = SlowCluster(
            folder,
            pools=('volumes',),
            osds=chosen.osds,
            block_gib=10,
            memory_mib=512,
        )
        cluster.limits = limits
        cluster._stack = stack
        stack.enter_context(cluster)
        print(
            f'{chosen.osds} OSDs on loop devices, each limited to '
            f'{sizes.format_size(bytes_a_second)} and {chosen.operations} '
            'operations in a second, for reads and for writes'
        )
        conf = str(cluster.conf)
        command = [word.replace('{conf}', conf) for word in chosen.command]
        return subprocess.run(command, check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
