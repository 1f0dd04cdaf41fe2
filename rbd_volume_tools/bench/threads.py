# SPDX-License-Identifier: Apache-2.0

"""The processor time of the messenger threads of a Ceph client."""

import os
import pathlib
import time

#: Names of the threads, of which ``ms_async_op_threads`` sets the number.
_MESSENGER = 'msgr-worker'
_TICKS = os.sysconf('SC_CLK_TCK')


class Busiest:
    """The highest use of a processor by one messenger thread.

    A thread at 100 % limits the client: increase ``ms_async_op_threads``.

    :ivar percent: of one processor, over about a second
    """

    def __init__(self, root: pathlib.Path = pathlib.Path('/proc')) -> None:
        self.percent = 0.0
        self._root = root
        self._before: dict[str, int] = {}
        self._taken = 0.0

    def read(self, process: int) -> None:
        """Read the times of all threads of a process."""
        now = time.monotonic()
        used = {}
        for task in self._root.glob(f'{process}/task/*/stat'):
            try:
                start, _, rest = task.read_text().rpartition(')')
            except OSError:
                # The thread has ended.
                continue
            if f'({_MESSENGER}' in start:
                fields = rest.split()
                # utime and stime, see proc_pid_stat(5).
                used[task.parent.name] = int(fields[11]) + int(fields[12])
        for ident, ticks in used.items():
            if ident in self._before and now > self._taken:
                part = (ticks - self._before[ident]) / _TICKS
                percent = 100 * part / (now - self._taken)
                self.percent = max(self.percent, percent)
        self._before, self._taken = used, now
