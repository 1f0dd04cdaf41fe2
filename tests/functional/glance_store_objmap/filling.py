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

"""The shared cluster when it is full, or does not answer."""

import json
import subprocess
import time
from typing import Any

from tests.functional import ceph

#: As Ceph has them; restored after a test.
_RATIOS = {'nearfull': 0.85, 'backfillfull': 0.9, 'full': 0.95}


class Monitor:
    """The cluster's monitor, told what state it is to be in.

    A pool is marked full some seconds after it is.
    """

    def __init__(self, cluster: ceph.SharedCluster) -> None:
        self._rados = cluster.rados
        self._conf = cluster.conf

    def command(self, prefix: str, **arguments: Any) -> Any:
        """Run a command of the monitor's."""
        asked = {'prefix': prefix, 'format': 'json', **arguments}
        status, answer, text = self._rados.mon_command(json.dumps(asked), b'')
        if status:
            raise AssertionError(f'{prefix}: {text}')
        return json.loads(answer) if answer.strip() else None

    def set_quota(self, pool: str, limit: int) -> None:
        """Set a quota in bytes; 0 for none."""
        self.command(
            'osd pool set-quota',
            pool=pool,
            field='max_bytes',
            val=str(limit),
        )

    def set_full_ratios(self, ratio: float) -> None:
        """Have all OSDs count as full above a ratio."""
        for index, name in enumerate(_RATIOS):
            self.command(f'osd set-{name}-ratio', ratio=ratio * (8 + index))

    def pause(self) -> None:
        """Have all OSDs answer nobody."""
        self.command('osd set', key='pause')

    def resume_after(self, seconds: int) -> subprocess.Popen[bytes]:
        """End a pause after a time, from a process of its own.

        Where Cinder's tests run in the same process eventlet has replaced
        threads by its own, which do not run while librbd waits.
        """
        unset = f'ceph --conf {self._conf} --id admin osd unset pause'
        return subprocess.Popen(
            ['/bin/sh', '-c', f'sleep {seconds}; exec {unset}'],
            stderr=subprocess.DEVNULL,
        )

    def resume(self) -> None:
        """End a pause."""
        self.command('osd unset', key='pause')

    def reset(self, pool: str) -> None:
        """Have nothing full any more."""
        self.set_quota(pool, 0)
        for name, ratio in _RATIOS.items():
            self.command(f'osd set-{name}-ratio', ratio=ratio)
        self.wait(pool, full=False)

    def wait(self, pool: str, full: bool) -> None:
        """Wait until a pool is marked full, or no more."""
        deadline = time.monotonic() + 60
        while self._is_full(pool) != full:
            if time.monotonic() > deadline:
                raise AssertionError(f'pool {pool}: full is not {full}')
            time.sleep(0.1)

    def _is_full(self, pool: str) -> bool:
        (names,) = (
            found['flags_names'].split(',')
            for found in self.command('osd dump')['pools']
            if found['pool_name'] == pool
        )
        return 'full' in names
