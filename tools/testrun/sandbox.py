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

"""The sandbox as parts of a run use it: one for all of them."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import subprocess

from testrun import environment
from testrun import tree

_SANDBOX = str(tree.ROOT / 'tools' / 'sandbox')


class SandboxFailed(Exception):
    """The sandbox didn't come up."""


@contextlib.contextmanager
def ended_after() -> Iterator[None]:
    """Take down the sandbox that was brought up meanwhile, however it ends.

    One that was up before stays up; KEEP=1 keeps one that wasn't, to look
    around in after a failure.
    """
    was_up = _quiet('status') == 0
    try:
        yield
    finally:
        if not was_up and os.environ.get('KEEP') != '1':
            down = [_SANDBOX, 'down', '--keep-venv']
            subprocess.run(down, stdin=subprocess.DEVNULL)


def up(release: str = environment.RELEASE) -> dict[str, str]:
    """Bring up what doesn't run yet; return what its clients need.

    :raises SandboxFailed: it did not come up
    """
    done = subprocess.run(
        [_SANDBOX, 'up', '--release', release], stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SandboxFailed('tools/sandbox up failed')
    return _client_environ()


def _client_environ() -> dict[str, str]:
    """What `tools/sandbox env` exports, read by the shell it is meant for."""
    script = 'set -a; eval "$("$1" env)"; env -0'
    shown = subprocess.run(
        ['bash', '-euc', script, 'bash', _SANDBOX],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    pairs = (line.split('=', 1) for line in shown.split('\0') if '=' in line)
    return {
        name: value
        for name, value in pairs
        if os.environ.get(name) != value
        # The tests' own venv, tree and Python come first, not the cloud's.
        and name not in ('PATH', 'PYTHONPATH', 'VIRTUAL_ENV', '_', 'SHLVL')
    }


def _quiet(command: str) -> int:
    return subprocess.run(
        [_SANDBOX, command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).returncode
