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

"""Runs the test of the lives of volumes: random sequences on the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from testrun import environment
from testrun import lanes
from testrun import outcome

_PROGRAM = 'tests.life'


def run(
    venv: environment.Venv,
    options: Sequence[str],
    environ: Mapping[str, str],
) -> outcome.Outcome:
    """Run it; each sequence counts as one test.

    :param options: of its own command line
    :param environ: what clients of the sandbox need
    """
    command = [venv.program('python'), '-m', _PROGRAM, *options]
    return lanes.follow(command, environ={**venv.environ(), **environ})
