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

"""The functional tests on a second release of Debian.

They are run by the `tools/test` of a copy of the checkout, in a folder that
holds the other release: with its Ceph, its QEMU and its Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import os
import subprocess

from testrun import chroot
from testrun import environment
from testrun import outcome

NAME = 'Debian 13'
#: Its code name.
SUITE = 'trixie'

# Fewer than on the first one: the draw is the same, and it is here for what
# differs between two versions of librbd.
_CASES = ('RBD_TEST_CASES', '800')

# What it is that the tests ran on.
_VERSIONS = """\
. /etc/os-release
printf '  %s, %s\n' "$PRETTY_NAME" "$(python3 --version)"
ceph --version | cut -d' ' -f1-3 | sed 's/^/  /'
qemu-img --version | sed -n '1s/^/  /p'
"""


def run(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    """Run the functional tests inside; say what it is that they ran on."""
    place = chroot.Chroot(SUITE)
    return inside(place, 'functional', venv, filters, _environ(), _VERSIONS)


def inside(
    place: chroot.Chroot,
    part: str,
    venv: environment.Venv,
    filters: Sequence[str],
    environ: Mapping[str, str],
    versions: str,
) -> outcome.Outcome:
    """Run a part by the copy of the checkout inside.

    :param environ: what it gets besides what leads to package indexes
    :param versions: a shell script that says what it ran on
    """
    with environment.alone(place.suite):
        try:
            place.prepare()
        except environment.CannotPrepare as error:
            print(f'  FAILED: {error}')
            return outcome.FAILED
        place.fill()
        # What an interrupted installation left has to be ended first.
        _call(place, ['dpkg', '--configure', '-a'])
        tests = [str(chroot.TREE / 'tools' / 'test'), part]
        tests += ['--release', venv.release, '--', *filters]
        found = _count(place.command(tests, environ))
        _call(place, ['sh', '-uc', versions])
        return found


def _environ() -> dict[str, str]:
    name, default = _CASES
    return {name: os.environ.get(name, default)}


def _call(place: chroot.Chroot, command: Sequence[str]) -> None:
    subprocess.run(
        place.command(command, {}), stdin=subprocess.DEVNULL, check=False
    )


def _count(command: Sequence[str]) -> outcome.Outcome:
    """Run the tests, showing what they print; their last line counts them."""
    found = None
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors='replace',
    ) as tests:
        for line in tests.stdout or ():
            print(line, end='', flush=True)
            found = outcome.Outcome.of(line)
    if found is None:
        print(f'  FAILED: the tests ended with status {tests.returncode}')
        return outcome.FAILED
    return found
