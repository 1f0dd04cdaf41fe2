# SPDX-License-Identifier: Apache-2.0

"""Child processes that read or copy images.

A crash of librbd in a child does not end the volume service. A child that the
service does not wait for any longer is killed, and so is a child whose service
ends (:mod:`cinder_rbd_ext.retype.ending`).
"""

from collections.abc import Callable
from collections.abc import Sequence
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO

from cinder import exception

#: Seconds that an OSD may take to answer a request of a child. A pool at its
#: quota or a full cluster does not answer writes.
PATIENCE = 120

#: Seconds between two calls of the function that receives the progress.
INTERVAL = 5.0

# Seconds between two checks whether a child has ended. The first intervals are
# shorter.
_SHORTEST, _LONGEST = 0.02, 0.5

_PERCENT = re.compile(rb'(\d+)% complete')
_TAIL = 4096

#: Receives the progress as a percentage. An exception ends the child.
Report = Callable[[int], None]


class ChildFailed(exception.VolumeBackendAPIException):
    """A child process failed or was killed."""

    message = '%(program)s ended with %(how)s: %(output)s'


def run(command: Sequence[str], report: Report) -> str:
    """Run a program in a child process until it ends.

    :param report: called every :data:`INTERVAL` seconds, also without progress
    :returns: the last line of its output
    :raises ChildFailed: if it fails
    """
    with tempfile.TemporaryFile() as output:
        ending = str(pathlib.Path(__file__).with_name('ending.py'))
        child = subprocess.Popen(
            [sys.executable, '-I', ending, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(child, output, report)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        if status := child.returncode:
            how = f'exit status {status}'
            if status < 0:
                how = f'signal {signal.Signals(-status).name}'
            raise ChildFailed(
                program=command[0], how=how, output=_last_line(output)
            )
        return _last_line(output)


def _wait(
    child: 'subprocess.Popen[bytes]', output: IO[bytes], report: Report
) -> None:
    pause, reported = _SHORTEST, time.monotonic()
    while child.poll() is None:
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST)
        if time.monotonic() - reported >= INTERVAL:
            reported = time.monotonic()
            shown = _PERCENT.findall(_tail(output))
            report(min(100, int(shown[-1])) if shown else 0)


def _tail(output: IO[bytes]) -> bytes:
    """Return the end of the output, which the child continues to write."""
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), _TAIL, max(0, size - _TAIL))


def _last_line(output: IO[bytes]) -> str:
    lines = _tail(output).replace(b'\r', b'\n').decode(errors='replace')
    return next(filter(None, map(str.strip, lines.split('\n')[::-1])), '')
