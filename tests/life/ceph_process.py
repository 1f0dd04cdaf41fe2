# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The cluster of the sandbox, used by a process of its own.

librbd 16.2.15 aborts now and then in a thread of its own. That ends this
process only, and what was asked is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import process
import multiprocessing
import signal
import threading
from typing import Any

from tests.life import ceph
from tests.life import content as contents
from tests.life import state as state_module

#: The connection of the process that uses Ceph.
_connection: ceph.Connection


def _connect(conf: str) -> None:
    global _connection
    # Ctrl-C is for the run, which goes on to clean up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _connection = ceph.Connection(conf)


def _call(method: str, *arguments: Any, **named: Any) -> Any:
    return getattr(_connection, method)(*arguments, **named)


class Cluster:
    """What :class:`tests.life.ceph.Connection` does, in another process."""

    def __init__(self, conf: str, show: Callable[[str], None]) -> None:
        self._conf = conf
        self._show = show
        self._lock = threading.Lock()
        self._process = self._started()

    def _started(self) -> futures.ProcessPoolExecutor:
        return futures.ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn'), _connect, (self._conf,)
        )

    def _ask(self, method: str, *arguments: Any, **named: Any) -> Any:
        used = self._process
        try:
            return used.submit(_call, method, *arguments, **named).result()
        except process.BrokenProcessPool:
            self._show(f'  the process that uses Ceph ended in {method}')
        with self._lock:
            if self._process is used:
                self._process = self._started()
        return self._process.submit(
            _call, method, *arguments, **named
        ).result()

    def state(self, pool: str, name: str) -> state_module.State | None:
        """Return what an image is; None where there is none."""
        found: state_module.State | None = self._ask('state', pool, name)
        return found

    def content(self, pool: str, name: str) -> contents.Digests:
        """Return the blocks of an image that aren't zeros."""
        found: contents.Digests = self._ask('content', pool, name)
        return found

    def write(self, pool: str, name: str, blocks: contents.Content) -> None:
        """Write blocks into an image."""
        self._ask('write', pool, name, blocks)

    def make(self, pool: str, name: str, size: int, **layout: int) -> None:
        """Make an image that isn't Cinder's; a size in GiB."""
        self._ask('make', pool, name, size, **layout)

    def remove(self, pool: str, name: str) -> None:
        """Remove an image with its snapshots, if it is there."""
        self._ask('remove', pool, name)

    def names(self, pool: str) -> list[str]:
        """Return the names of a pool's images, those in the trash too."""
        found: list[str] = self._ask('names', pool)
        return found

    def everything(self) -> set[str]:
        """Return all there is in the pools: objects, and omap entries."""
        found: set[str] = self._ask('everything')
        return found
