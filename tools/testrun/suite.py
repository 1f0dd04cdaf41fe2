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

"""Runs one folder of tests with stestr."""

from __future__ import annotations

from collections.abc import Sequence
import json
import os
import pathlib
import subprocess
import tempfile
from typing import IO

from testrun import environment
from testrun import outcome
from testrun import tree


def run(
    venv: environment.Venv,
    folder: str,
    filters: Sequence[str] = (),
    workers: int = 1,
    environ: dict[str, str] | None = None,
    show: IO[str] | None = None,
) -> outcome.Outcome:
    """Run the tests below a folder, one process per worker.

    One worker means one process, so that what is expensive to start (a
    Ceph cluster) is started once. What there is to see goes to standard
    output, or to the file `show`.
    """
    environ = {
        # Cinder, eventlet and SQLAlchemy warn of much that isn't ours.
        'PYTHONWARNINGS': 'ignore::DeprecationWarning',
        **venv.environ(),
        **(environ or {}),
    }
    command = [venv.program('stestr'), '--test-path', folder]
    command += ['run', '--subunit', '--concurrency', str(workers), *filters]
    with tempfile.TemporaryDirectory() as scratch:
        counts = pathlib.Path(scratch, 'counts.json')
        reader = [venv.program('python'), '-m', 'testrun.subunit_report']
        status, read = _pipe(command, [*reader, str(counts)], environ, show)
        if read or not counts.exists():
            print('  FAILED: the results could not be read', file=show)
            return outcome.FAILED
        found = outcome.Outcome(**json.loads(counts.read_text()))
    if filters and not found.ran:
        # They may select tests of another part; the run as a whole has to
        # find some.
        return found
    if status and not found.failed:
        # A module that can't be imported, say: stestr stops before any test.
        print(f'  FAILED: stestr ended with status {status}', file=show)
        found += outcome.FAILED
    return found


def _pipe(
    command: Sequence[str],
    reader: Sequence[str],
    environ: dict[str, str],
    show: IO[str] | None,
) -> tuple[int, int]:
    """Run one command into another; return the status of each.

    By a pipe of the system's: where Cinder's tests have patched the standard
    library for eventlet, a pipe of `subprocess` doesn't block, and its reader
    would find nothing.
    """
    out, into = os.pipe()
    try:
        writing = subprocess.Popen(
            command,
            cwd=tree.ROOT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=into,
        )
        os.close(into)
        reading = subprocess.run(
            reader, cwd=tree.ROOT, env=environ, stdin=out, stdout=show
        )
    finally:
        os.close(out)
    return writing.wait(), reading.returncode
