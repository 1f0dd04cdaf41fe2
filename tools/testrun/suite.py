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

from collections.abc import Iterable
from collections.abc import Sequence
import json
import os
import pathlib
import re
import subprocess
import tempfile
from typing import IO

from testrun import environment
from testrun import outcome
from testrun import tree

#: Folders whose tests can't share a process with those beside them;
#: ``tests.alone`` says why, and leaves them out unless FOLDER names them.
ALONE = ('tests/unit/nova_rbd_cache', 'tests/functional/nova_rbd_cache')
FOLDER = 'RBD_TEST_FOLDER'
_ERROR_LINES = 40


def run_all(
    venv: environment.Venv,
    folder: str,
    filters: Sequence[str] = (),
    workers: int = 1,
    environ: dict[str, str] | None = None,
    show: IO[str] | None = None,
    leave_out: Iterable[str] = (),
) -> outcome.Outcome:
    """Run the tests below a folder, those that have to be alone at the end."""
    how = (filters, workers, environ, show, leave_out)
    total = run(venv, folder, *how)
    for each in ALONE:
        if each.startswith(f'{folder}/'):
            found = run(venv, each, *how)
            if not found.ran and not filters:
                print(f'  FAILED: no test ran in {each}', file=show)
                found += outcome.FAILED
            total += found
    return total


def run(
    venv: environment.Venv,
    folder: str,
    filters: Sequence[str] = (),
    workers: int = 1,
    environ: dict[str, str] | None = None,
    show: IO[str] | None = None,
    leave_out: Iterable[str] = (),
    exclude_list: pathlib.Path | None = None,
) -> outcome.Outcome:
    """Run the tests below a folder, one process per worker.

    One worker means one process, so that what is expensive to start (a
    Ceph cluster) is started once. What there is to see goes to standard
    output, or to the file `show`. Tests whose names begin with one of
    `leave_out` don't run, nor what a file `exclude_list` has.
    """
    environ = {
        # Cinder, eventlet and SQLAlchemy warn of much that isn't ours.
        'PYTHONWARNINGS': 'ignore::DeprecationWarning',
        **venv.environ(),
        FOLDER: folder,
        **(environ or {}),
    }
    command = [venv.program('stestr'), '--test-path', folder]
    command += ['--repo-url', str(_results(venv, folder))]
    command += ['run', '--subunit', '--concurrency', str(workers)]
    if names := '|'.join(map(re.escape, leave_out)):
        command += ['--exclude-regex', f'^({names})']
    if exclude_list:
        command += ['--exclude-list', str(exclude_list)]
    command += filters
    return collect(venv, command, environ, selected=bool(filters), show=show)


def _results(venv: environment.Venv, folder: str) -> pathlib.Path:
    """Return where stestr keeps results: no two runs can share it."""
    path = venv.path / 'results' / folder
    path.mkdir(parents=True, exist_ok=True)
    return path


def collect(
    venv: environment.Venv,
    command: Sequence[str],
    environ: dict[str, str],
    cwd: pathlib.Path | None = None,
    selected: bool = False,
    show: IO[str] | None = None,
) -> outcome.Outcome:
    """Run a command that gives a subunit stream; count what is in it.

    `environ` holds what the command and the reader of its stream need;
    `selected` says that a filter may have left no test.
    """
    with tempfile.TemporaryDirectory() as scratch:
        counts = pathlib.Path(scratch, 'counts.json')
        errors = pathlib.Path(scratch, 'errors')
        reader = [venv.program('python'), '-m', 'testrun.subunit_report']
        with errors.open('w') as stderr:
            status, read = _pipe(
                [command, [*reader, str(counts)]],
                environ,
                cwd or tree.ROOT,
                stderr,
                show,
            )
        found, unmatched = outcome.FAILED, False
        if not read and counts.exists():
            told = json.loads(counts.read_text())
            unmatched = told['unmatched']
            found = outcome.Outcome(**told['outcome'])
        if selected and unmatched:
            # They may select tests of another part; the run as a whole has
            # to find some.
            return found
        if status or found.failed:
            _show_end(errors, show)
        if found is outcome.FAILED:
            print('  FAILED: the results could not be read', file=show)
    if status and not found.failed:
        # A module that can't be imported, say: stestr stops before any test.
        program = pathlib.PurePath(command[0]).name
        print(f'  FAILED: {program} ended with status {status}', file=show)
        found += outcome.FAILED
    return found


def _show_end(errors: pathlib.Path, show: IO[str] | None) -> None:
    """Show the end of what the tests' processes said beside their results.

    Nothing of it where all passed: Cinder's own tests turn the warnings of
    the libraries on again, thousands of them.
    """
    lines = errors.read_text(errors='replace').splitlines()
    for line in lines[-_ERROR_LINES:]:
        print(f'  | {line}', file=show)


def _pipe(
    commands: Sequence[Sequence[str]],
    environ: dict[str, str],
    cwd: pathlib.Path,
    stderr: IO[str],
    show: IO[str] | None,
) -> tuple[int, int]:
    """Run one command into another; return the status of each.

    By a pipe of the system's: where Cinder's tests have patched the standard
    library for eventlet, a pipe of `subprocess` doesn't block, and its reader
    would find nothing.
    """
    command, reader = commands
    out, into = os.pipe()
    try:
        writing = subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=into,
            stderr=stderr,
        )
        os.close(into)
        reading = subprocess.run(
            reader, cwd=tree.ROOT, env=environ, stdin=out, stdout=show
        )
    finally:
        os.close(out)
    return writing.wait(), reading.returncode
