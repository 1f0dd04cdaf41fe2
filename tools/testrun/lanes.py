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

"""Runs parts side by side, each lane of them in a process of its own.

Tests on the sandbox mostly wait for its services, so there is a processor to
spare for all others meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import subprocess
import sys

from testrun import outcome
from testrun import tree

_FAILURE = 'failed: '


def run(
    lanes: Mapping[str, Sequence[str]], arguments: Sequence[str]
) -> outcome.Outcome:
    """Run lanes of parts at the same time, showing what each shows.

    :param lanes: what to call each, and the names of its parts
    :param arguments: for each of them; what selects tests is to be last
    """
    width = max(map(len, lanes))
    with futures.ThreadPoolExecutor(len(lanes)) as pool:
        running = [
            pool.submit(_run, f'{name:<{width}} | ', [*names, *arguments])
            for name, names in lanes.items()
        ]
        return sum((each.result() for each in running), outcome.Outcome())


def _run(prefix: str, arguments: Sequence[str]) -> outcome.Outcome:
    return follow([sys.executable, '-m', 'testrun', *arguments], prefix)


def follow(
    command: Sequence[str],
    prefix: str = '',
    environ: Mapping[str, str] | None = None,
) -> outcome.Outcome:
    """Run a command whose last line says what it came to, as ours do.

    :param prefix: comes before each line that it shows
    """
    found, failures = None, []
    with subprocess.Popen(
        command,
        cwd=tree.ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
    ) as lane:
        for line in lane.stdout or ():
            # In one piece, lest the other lane's words come in between.
            print(f'{prefix}{line.rstrip()}\n', end='', flush=True)
            found = outcome.Outcome.of(line)
            if line.startswith(_FAILURE):
                failures.append(line.removeprefix(_FAILURE).strip())
    if found is None:
        print(f'{prefix}FAILED: ended with status {lane.returncode}')
        return outcome.FAILED
    return dataclasses.replace(found, failures=failures)
