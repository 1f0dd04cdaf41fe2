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

"""The tests on the releases of OpenStack before the newest.

The oldest release runs all of them. Those between it and the newest run what
tells whether a host service still is what we build on: the contract tests and
the stock projects' own suites. Two folders run at a time, and what they show
is shown when they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent import futures
import dataclasses
import tempfile
import time

from testrun import environment
from testrun import outcome
from testrun import suite

#: What runs on each release, side by side: functional tests mostly wait for
#: Ceph, of which each run has its own.
FOLDERS = ('tests/functional', 'tests/unit')
LANES = 2

#: Of the releases between the oldest and the newest: folder and tests, by
#: regular expression. All others came out alike there whenever they did on
#: the oldest and on the newest.
BETWEEN = {
    'tests/unit': (r'\.test_(\w+_)?(contract|stock_suites?|releases)\.',)
}

#: Tests that come out alike on every release, by what their names begin
#: with; they run on the newest only.
NO_OPENSTACK = {
    'tests.unit.fakes.': 'a fake',
    'tests.unit.life.': 'a test of the sandbox',
    'tests.unit.sandbox_cloud.': 'the sandbox: standard library and templates',
    'tests.unit.rbd_volume_options.': 'standard library only',
    'tests.unit.test_contract.': 'how a broken contract is told',
    'tests.unit.testrun.': 'what runs this',
    'tests.functional.rbd_volume_options.': 'our rules and librbd',
    'tests.functional.test_benchmarks.': 'Ceph and QEMU, mostly',
    'tests.functional.test_librbd_behaviour.': 'a fake and librbd',
}


def run(newest: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    """Run the tests on each older release, oldest first.

    :param newest: not used; the other parts run on it
    :param filters: select tests of all releases
    """
    return _run_on(filters, whole=bool(filters))


def run_all(
    newest: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    """Run all unit and functional tests on each older release.

    :param newest: not used; the other parts run on it
    """
    return _run_on(filters, whole=True)


def _run_on(filters: Sequence[str], whole: bool) -> outcome.Outcome:
    found = dict.fromkeys(environment.RELEASES[:-1], outcome.Outcome())
    running = {}
    with futures.ThreadPoolExecutor(LANES) as lanes:
        for release in found:
            venv = environment.Venv(release)
            try:
                _prepare(venv)
            except environment.CannotPrepare as error:
                print(f'  FAILED {release}: {error}', flush=True)
                found[release] = outcome.FAILED
                continue
            oldest = release == environment.RELEASES[0]
            every = dict.fromkeys(FOLDERS, filters)
            wanted = every if whole or oldest else BETWEEN
            for folder, tests in wanted.items():
                job = lanes.submit(_run, venv, folder, tests, bool(filters))
                running[job] = release
        for job in futures.as_completed(running):
            found[running[job]] += job.result()
    for release, total in found.items():
        print(f'--- {release}: {total}', flush=True)
    return sum(found.values(), outcome.Outcome())


def _prepare(venv: environment.Venv) -> None:
    with environment.alone():
        venv.prepare()
        venv.link_bindings()


def _run(
    venv: environment.Venv,
    folder: str,
    filters: Sequence[str],
    selected: bool,
) -> outcome.Outcome:
    """Run a folder's tests; none is a failure unless somebody selected."""
    title = f'--- {venv.release}, {folder}'
    print(f'{title}: begun', flush=True)
    began = time.monotonic()
    with tempfile.TemporaryFile('w+') as show:
        found = suite.run_all(
            venv, folder, filters, leave_out=NO_OPENSTACK, show=show
        )
        if not found.ran and not selected:
            print('  FAILED: no test ran', file=show)
            found += outcome.FAILED
        show.seek(0)
        shown = ''.join(line for line in show if not _is_progress(line))
    seconds = time.monotonic() - began
    # At once, so that nothing of the other lane's comes in between.
    print(f'{shown}{title}: {found}, {seconds:.1f} s', flush=True)
    failures = [f'{venv.release}: {each}' for each in found.failures]
    return dataclasses.replace(found, failures=failures)


def _is_progress(line: str) -> bool:
    """Whether a line says how many tests ran so far; no news at the end."""
    return line.startswith('  ... ')
