# SPDX-License-Identifier: Apache-2.0

"""The sandbox's Ceph cluster, accessed in a separate process.

librbd 16.2.15 occasionally crashes or hangs in one of its threads. This
affects only the separate process, and the call is repeated in a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import process
import functools
import multiprocessing
import signal
import threading
from typing import Any

from tests.life import ceph

#: Seconds after which a request of the process counts as hung. Reading the
#: content of an image takes minutes on a slow machine.
_LONGEST = 600.0

#: The connection to Ceph in the separate process.
_connection: ceph.Connection


def _connect(conf: str) -> None:
    global _connection
    # Ctrl-C ends the run, which still cleans up with this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _connection = ceph.Connection(conf)


def _call(method: str, *arguments: Any, **named: Any) -> Any:
    return getattr(_connection, method)(*arguments, **named)


class Cluster:
    """:class:`tests.life.ceph.Connection` in a separate process."""

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
        """Call a method in the process, or once more in a new one.

        :raises RuntimeError: if both processes ended or hang
        """
        for _ in range(2):
            used = self._process
            try:
                return used.submit(_call, method, *arguments, **named).result(
                    _LONGEST
                )
            except process.BrokenProcessPool:
                how = 'ended'
            except TimeoutError:
                how = 'hangs'
                for child in multiprocessing.active_children():
                    child.kill()
            self._show(f'  the process that uses Ceph {how} in {method}')
            with self._lock:
                if self._process is used:
                    self._process = self._started()
        raise RuntimeError(f'the second process {how} in {method}, too')

    def __getattr__(self, method: str) -> Any:
        return functools.partial(self._ask, method)

    def close(self) -> None:
        """End the separate process."""
        self._process.shutdown()
