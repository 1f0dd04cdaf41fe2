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

"""The checks that aren't tests: each is a command and counts as one."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import pathlib
import shutil
import subprocess
import time

from testrun import environment
from testrun import outcome
from testrun import tree


@dataclasses.dataclass(frozen=True)
class Check:
    """A command that passes when it exits with 0."""

    name: str
    command: Sequence[str]


def lint(venv: environment.Venv) -> list[Check]:
    """Style and spelling of code, pages and scripts."""
    files = tree.files()
    pages = [name for name in files if name.endswith('.rst')]
    python = [name for name in files if name.endswith('.py')]
    shell = tree.shell_scripts()
    return [
        Check('ruff', [venv.program('ruff'), 'check', '--no-cache']),
        Check(
            'ruff format',
            [venv.program('ruff'), 'format', '--no-cache', '--diff'],
        ),
        # flake8 runs for hacking's checks alone; ruff does the rest.
        Check('hacking', [venv.program('flake8'), *python]),
        Check('codespell', [venv.program('codespell'), *files]),
        Check('doc8', [venv.program('doc8'), *pages]),
        Check('bashate', [venv.program('bashate'), *shell]),
        Check('shellcheck', ['shellcheck', '--external-sources', *shell]),
    ]


def types(venv: environment.Venv) -> list[Check]:
    """mypy, strict, over everything that pyproject.toml names."""
    return [Check('mypy', [venv.program('mypy')])]


def pages(venv: environment.Venv, scratch: pathlib.Path) -> list[Check]:
    """Documentation, release notes and sample files can be made."""
    sphinx = [venv.program('sphinx-build'), '-W', '--keep-going', '-q']
    return [
        Check('doc', [*sphinx, 'doc/source', str(scratch / 'doc')]),
        Check(
            'release notes',
            [*sphinx, 'releasenotes/source', str(scratch / 'releasenotes')],
        ),
        *(
            Check(
                f'sample {pathlib.Path(name).stem}',
                [
                    venv.program('oslo-config-generator'),
                    '--config-file',
                    name,
                    '--output-file',
                    str(scratch / f'{pathlib.Path(name).stem}.sample'),
                ],
            )
            for name in tree.files()
            if name.startswith('etc/oslo-config-generator/')
        ),
    ]


def run(check: Check, environ: dict[str, str]) -> outcome.Outcome:
    """Run one check; its output is shown only when it fails."""
    program = shutil.which(check.command[0], path=environ['PATH'])
    if program is None:
        print(f'  FAILED {check.name}: {check.command[0]} is not installed')
        return outcome.FAILED
    began = time.monotonic()
    result = subprocess.run(
        [program, *check.command[1:]],
        cwd=tree.ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
    )
    seconds = time.monotonic() - began
    if result.returncode:
        print(f'  FAILED {check.name} ({seconds:.1f} s)\n{result.stdout}')
        return outcome.FAILED
    print(f'  ok     {check.name} ({seconds:.1f} s)', flush=True)
    return outcome.PASSED
