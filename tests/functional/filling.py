# SPDX-License-Identifier: Apache-2.0

"""Make the shared cluster full or unresponsive, or refuse a client."""

from collections.abc import Callable
import json
import subprocess
import time
from typing import Any

from tests.functional import ceph

#: The defaults of Ceph, restored after a test.
_RATIOS = {'nearfull': 0.85, 'backfillfull': 0.9, 'full': 0.95}


class Monitor:
    """Sets the state of the cluster through its monitor.

    Ceph marks a pool as full some seconds after it is full.
    """

    def __init__(self, cluster: ceph.SharedCluster) -> None:
        self._rados = cluster.rados
        self._conf = cluster.conf

    def command(self, prefix: str, **arguments: Any) -> Any:
        """Run a monitor command."""
        query = {'prefix': prefix, 'format': 'json', **arguments}
        status, answer, text = self._rados.mon_command(json.dumps(query), b'')
        if status:
            raise AssertionError(f'{prefix}: {text}')
        return json.loads(answer) if answer.strip() else None

    def blocklist(self, address: str) -> None:
        """Make the OSD refuse a client, and drop its watches.

        :param address: what ``Rados.get_addrs`` returns in the client
        """
        self.command(
            'osd blocklist',
            blocklistop='add',
            addr=address.removeprefix('v1:'),
        )
        epoch = self.command('osd dump')['epoch']
        _until(
            lambda: self._newest_map() >= epoch,
            f'the OSD has no map of epoch {epoch}',
        )

    def _newest_map(self) -> int:
        query = json.dumps({'prefix': 'status', 'format': 'json'})
        status, answer, text = self._rados.osd_command(0, query, b'')
        if status:
            raise AssertionError(text)
        return int(json.loads(answer)['newest_map'])

    def set_quota(self, pool: str, limit: int) -> None:
        """Set a quota in bytes; 0 means no quota."""
        self.command(
            'osd pool set-quota',
            pool=pool,
            field='max_bytes',
            val=str(limit),
        )

    def set_full_ratios(self, ratio: float) -> None:
        """Set the ratio above which OSDs count as full."""
        for index, name in enumerate(_RATIOS):
            self.command(f'osd set-{name}-ratio', ratio=ratio * (8 + index))

    def pause(self) -> None:
        """Pause all reads and writes of the OSDs."""
        self.command('osd set', key='pause')

    def resume_after(self, seconds: int) -> subprocess.Popen[bytes]:
        """End the pause after some seconds, from a separate process.

        If Cinder's tests run in the same process, threads are green threads
        of eventlet, which do not run while librbd waits.
        """
        unset = f'ceph --conf {self._conf} --id admin osd unset pause'
        return subprocess.Popen(
            ['/bin/sh', '-c', f'sleep {seconds}; exec {unset}'],
            stderr=subprocess.DEVNULL,
        )

    def resume(self) -> None:
        """End the pause."""
        self.command('osd unset', key='pause')

    def reset(self, pool: str) -> None:
        """Restore the quota and ratios; wait until the pool is not full."""
        self.set_quota(pool, 0)
        for name, ratio in _RATIOS.items():
            self.command(f'osd set-{name}-ratio', ratio=ratio)
        self.wait(pool, full=False)
        # The statistics follow seconds later, and the store reads them.
        _until(lambda: self._free(pool) > 0, f'pool {pool} has no free space')

    def wait(self, pool: str, full: bool) -> None:
        """Wait until a pool is marked as full, or no longer is."""
        _until(
            lambda: self._is_full(pool) == full,
            f'pool {pool}: full is not {full}',
        )

    def _free(self, pool: str) -> int:
        (free,) = (
            entry['stats']['max_avail']
            for entry in self.command('df')['pools']
            if entry['name'] == pool
        )
        return int(free)

    def _is_full(self, pool: str) -> bool:
        (names,) = (
            entry['flags_names'].split(',')
            for entry in self.command('osd dump')['pools']
            if entry['pool_name'] == pool
        )
        return 'full' in names


def _until(condition: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(failure)
        time.sleep(0.1)
