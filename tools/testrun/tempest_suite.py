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

"""Runs Tempest on the sandbox, with our plug-in from the built wheel.

In a venv without any service, as Tempest mostly has one.
"""

from __future__ import annotations

from collections.abc import Sequence
import pathlib
import subprocess
import tempfile
from typing import ClassVar

from testrun import distribution
from testrun import environment
from testrun import outcome
from testrun import suite
from testrun import tree

_LISTS = tree.ROOT / 'tests' / 'tempest'
#: Which tests are run: all of ours with those of upstream's that lie on the
#: driver, or with all of upstream's that a volume is in.
SELECTION = 'include.txt'
WHOLE = 'whole.txt'
_WORKERS = 2


class TempestVenv(environment.Venv):
    """Tempest and plug-ins of its; ours is added for each run."""

    kind: ClassVar[str] = 'tempest'
    requirements: ClassVar[tuple[str, ...]] = (
        'tests/tempest/requirements.txt',
    )


def run(
    venv: environment.Venv,
    tempest: environment.Venv,
    filters: Sequence[str],
    environ: dict[str, str],
    include: str = SELECTION,
) -> outcome.Outcome:
    """Run our tests and upstream's; filters choose among all there are.

    `venv` is that of the tests, which builds the wheel, writes tempest.conf
    and reads the results; `environ` what clients of the sandbox need;
    `include` the list to run without filters.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        try:
            with environment.alone():
                tempest.prepare()
                tempest.install(
                    '--reinstall', '--no-deps', _wheel(venv, scratch)
                )
            workspace = _workspace(venv, tempest, scratch, environ)
        except (
            environment.CannotPrepare,
            RuntimeError,
            subprocess.CalledProcessError,
        ) as error:
            print(f'  FAILED: {error}')
            return outcome.FAILED
        command = [tempest.program('tempest'), 'run', '--subunit']
        command += ['--config-file', str(workspace / 'etc' / 'tempest.conf')]
        command += ['--workspace-path', str(scratch / 'workspaces.yaml')]
        command += ['--concurrency', str(_WORKERS)]
        if filters:
            command += ['--regex', '|'.join(filters)]
        else:
            command += ['--include-list', str(_LISTS / include)]
        command += ['--exclude-list', str(_LISTS / 'exclude.txt')]
        return suite.collect(
            venv,
            command,
            # stestr takes PYTHON for its workers.
            {**tempest.environ(), 'PYTHONWARNINGS': 'ignore'},
            cwd=workspace,
            selected=bool(filters),
        )


def _wheel(venv: environment.Venv, scratch: pathlib.Path) -> str:
    return str(
        distribution.build(scratch / 'dist', venv.program('python')).wheel
    )


def _workspace(
    venv: environment.Venv,
    tempest: environment.Venv,
    scratch: pathlib.Path,
    environ: dict[str, str],
) -> pathlib.Path:
    """Make what `tempest init` makes, with the configuration for the cloud."""
    workspace = scratch / 'run'
    init = [tempest.program('tempest'), 'init', '--workspace-path']
    _execute([*init, str(scratch / 'workspaces.yaml'), str(workspace)], {})
    conf = workspace / 'etc' / 'tempest.conf'
    write = [venv.program('python'), '-m', 'testrun.tempest_conf', str(conf)]
    _execute(write, {**venv.environ(), **environ})
    return workspace


def _execute(command: Sequence[str], environ: dict[str, str]) -> None:
    done = subprocess.run(
        command,
        env=environ or None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        shown = ' '.join(command)
        raise RuntimeError(f'{shown} failed:\n{done.stdout}')
