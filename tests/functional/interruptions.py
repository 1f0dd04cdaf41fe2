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

"""Interruptions of removals of images."""

import json
import pathlib
import signal
import subprocess
import sys

import fixtures

from tests.functional import ceph

_PROGRAM = pathlib.Path(__file__).with_name('removing.py')


class _OsdOption(fixtures.Fixture):
    """An option of the OSD, for the duration of a test."""

    name: str
    during: str
    default: str

    def __init__(self, cluster: ceph.SharedCluster) -> None:
        super().__init__()
        self._cluster = cluster

    def _setUp(self) -> None:
        self._set(self.during)
        self.addCleanup(self._set, self.default)

    def _set(self, value: str) -> None:
        command = {'prefix': 'config set', 'var': self.name, 'val': [value]}
        status, _, text = self._cluster.rados.osd_command(
            0, json.dumps(command), b''
        )
        if status:
            raise AssertionError(text)


class ShortWatch(_OsdOption):
    """The OSD forgets a killed client after a few seconds."""

    name, during, default = 'osd_client_watch_timeout', '3', '30'


class SlowOsd(_OsdOption):
    """The OSD delays each request by a tenth of a second, its default."""

    name = 'osd_debug_inject_dispatch_delay_probability'
    during, default = '1', '0'


def kill_during_removal(
    cluster: ceph.SharedCluster, name: str, pool: str = 'volumes'
) -> None:
    """Remove an image in a process that is killed half-way."""
    done = subprocess.run(
        [sys.executable, _PROGRAM, cluster.conf, pool, name], check=False
    )
    if done.returncode != -signal.SIGKILL:
        raise AssertionError(f'the process ended with {done.returncode}')


def objects(
    cluster: ceph.SharedCluster, prefix: str, pool: str = 'volumes'
) -> int:
    """Return the number of objects whose names have a prefix."""
    return sum(
        each.key.startswith(prefix)
        for each in cluster.ioctx(pool).list_objects()
    )
