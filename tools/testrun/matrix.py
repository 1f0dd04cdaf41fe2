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

"""The tests on the releases of OpenStack before the newest."""

from __future__ import annotations

from collections.abc import Sequence
import time

from testrun import environment
from testrun import outcome
from testrun import suite

#: What is run on each: its folder, and the processes it runs in.
SUITES = {'tests/unit': 2, 'tests/functional': 1}


def run(newest: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    """Run unit and functional tests on each older release, oldest first.

    :param newest: not used; the other parts run on it
    """
    total = outcome.Outcome()
    for release in environment.RELEASES[:-1]:
        total += _run_on(environment.Venv(release), filters)
    return total


def _run_on(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    began = time.monotonic()
    try:
        with environment.alone():
            venv.prepare()
            venv.link_bindings()
    except environment.CannotPrepare as error:
        print(f'  FAILED {venv.release}: {error}')
        return outcome.FAILED
    found = outcome.Outcome()
    for folder, workers in SUITES.items():
        print(f'--- {venv.release}: {folder}', flush=True)
        found += suite.run(venv, folder, filters, workers=workers)
    seconds = time.monotonic() - began
    print(f'--- {venv.release}: {found}, {seconds:.1f} s', flush=True)
    if not found.ran and not filters:
        print(f'  FAILED {venv.release}: no test ran')
        found += outcome.FAILED
    return found
