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

"""The parts of a run, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import pathlib
import subprocess
import tempfile

from testrun import checks
from testrun import distribution
from testrun import environment
from testrun import outcome
from testrun import sandbox
from testrun import suite

_UNIT_WORKERS = 2


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the run: what it needs installed and what it does."""

    name: str
    summary: str
    run: Callable[[environment.Venv, Sequence[str]], outcome.Outcome]
    #: The part imports rados and rbd.
    ceph: bool = False
    #: The part runs tests, which a regular expression can select.
    selects: bool = True


def _lint(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return _checks(checks.lint(venv), venv.environ())


def _types(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return _checks(checks.types(venv), venv.environ())


def _structure(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        try:
            built = distribution.build(
                scratch / 'dist', venv.program('python')
            )
        except RuntimeError as error:
            print(f'  FAILED wheel\n{error}')
            return outcome.FAILED
        environ = venv.environ()
        found = suite.run(
            venv,
            'tests/structure',
            filters,
            environ={distribution.BUILT: str(scratch / 'dist')},
        )
        if filters:
            return found
        # The wheel comes first on the path: pages and samples are made from
        # what gets installed, its entry points included.
        environ['PYTHONPATH'] = str(built.installed)
        return found + _checks(checks.pages(venv, scratch), environ)


def _unit(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return suite.run(venv, 'tests/unit', filters, workers=_UNIT_WORKERS)


def _functional(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    return suite.run(venv, 'tests/functional', filters)


def _cloud(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    try:
        with sandbox.running() as environ:
            return suite.run(venv, 'tests/cloud', filters, environ=environ)
    except (
        OSError,
        sandbox.SandboxFailed,
        subprocess.CalledProcessError,
    ) as error:
        print(f'  FAILED: {error}')
        return outcome.FAILED


def _checks(
    wanted: Sequence[checks.Check], environ: dict[str, str]
) -> outcome.Outcome:
    return sum(
        (checks.run(check, environ) for check in wanted), outcome.Outcome()
    )


PARTS = (
    Part('lint', 'style and spelling', _lint, selects=False),
    Part('types', 'mypy, strict', _types, selects=False),
    Part('structure', 'wheel, entry points, imports, pages', _structure),
    Part('unit', 'tests without a service', _unit),
    Part(
        'functional',
        'tests on a Ceph cluster of their own',
        _functional,
        ceph=True,
    ),
    Part(
        'cloud',
        'tests on the sandbox',
        _cloud,
        ceph=True,
    ),
)
