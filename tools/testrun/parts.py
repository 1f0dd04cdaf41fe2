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
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

from testrun import checks
from testrun import distribution
from testrun import environment
from testrun import life
from testrun import matrix
from testrun import outcome
from testrun import packages
from testrun import platform
from testrun import sandbox
from testrun import suite
from testrun import tempest_suite
from testrun import tree

_UNIT_WORKERS = 2
#: Names the folder that tests of pages keep screenshots in.
_SCREENSHOTS = 'RBD_TEST_SCREENSHOTS'
#: Names the release of OpenStack that tests install.
_RELEASE = 'RBD_TEST_RELEASE'


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the run: what it needs installed and what it does."""

    name: str
    summary: str
    run: Callable[[environment.Venv, Sequence[str]], outcome.Outcome]
    #: What it needs of Debian, by a profile of bindep.txt.
    packages: str = 'test'
    #: The part runs in the host's venv of the tests.
    venv: bool = True
    #: The part imports rados and rbd there.
    ceph: bool = False
    #: The part runs tests, which a regular expression can select.
    selects: bool = True
    #: The part can run on any release of OpenStack, not on the newest alone.
    any_release: bool = False
    #: The release that the part is for, where that isn't the one asked for.
    release: str = ''
    #: The part brings the sandbox up; whoever runs it takes that down.
    sandbox: bool = False
    #: The part runs without being named.
    by_default: bool = True


def _lint(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return _checks(checks.lint(venv), venv.environ())


def _types(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return _checks(checks.types(venv), venv.environ())


def _structure(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        built = _build(venv, scratch)
        if built is None:
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


def _build(
    venv: environment.Venv, scratch: pathlib.Path
) -> distribution.Built | None:
    """Build into a folder `dist`; where that fails, say why."""
    try:
        return distribution.build(scratch / 'dist', venv.program('python'))
    except RuntimeError as error:
        print(f'  FAILED wheel\n{error}')
        return None


def _install(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        if _build(venv, scratch) is None:
            return outcome.FAILED
        return suite.run(
            venv,
            'tests/install',
            filters,
            environ={
                distribution.BUILT: str(scratch / 'dist'),
                _RELEASE: venv.release,
                # Tests have a HOME of their own, without what uv keeps.
                'XDG_CACHE_HOME': str(environment.cache().parent),
            },
        )


def _unit(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    return suite.run_all(venv, 'tests/unit', filters, workers=_UNIT_WORKERS)


def _functional(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    return suite.run_all(venv, 'tests/functional', filters)


def _devstack(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    return suite.run(venv, 'tests/devstack', filters, workers=_UNIT_WORKERS)


def _cloud_oldest(
    venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    return _cloud(venv, filters, tree.ROOT / 'tests/cloud/oldest-exclude.txt')


def _cloud(
    venv: environment.Venv,
    filters: Sequence[str],
    exclude_list: pathlib.Path | None = None,
) -> outcome.Outcome:
    shots = _screenshots(venv.release)
    try:
        return _on_sandbox(
            venv.release,
            lambda environ: suite.run(
                venv,
                'tests/cloud',
                filters,
                environ={**environ, _SCREENSHOTS: str(shots)},
                exclude_list=None if filters else exclude_list,
            ),
        )
    finally:
        if shots.exists():
            print(f'  screenshots are in {shots}')


def _life(venv: environment.Venv, options: Sequence[str]) -> outcome.Outcome:
    return _on_sandbox(
        venv.release, lambda environ: life.run(venv, options, environ)
    )


def _tempest(
    include: str, venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    tempest = tempest_suite.TempestVenv(venv.release)
    return _on_sandbox(
        venv.release,
        lambda environ: tempest_suite.run(
            venv, tempest, filters, environ, include
        ),
    )


def _on_sandbox(
    release: str,
    run: Callable[[dict[str, str]], outcome.Outcome],
) -> outcome.Outcome:
    try:
        return run(sandbox.up(release))
    except (
        OSError,
        sandbox.SandboxFailed,
        subprocess.CalledProcessError,
    ) as error:
        print(f'  FAILED: {error}')
        return outcome.FAILED


def _screenshots(release: str) -> pathlib.Path:
    """The folder for screenshots; without those of an earlier run."""
    if chosen := os.environ.get(_SCREENSHOTS):
        return pathlib.Path(chosen)
    folder = environment.cache() / f'screenshots-{release}'
    shutil.rmtree(folder, ignore_errors=True)
    return folder


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
    Part(
        'install',
        'each service alone in a fresh environment, with the wheel',
        _install,
        ceph=True,
        any_release=True,
    ),
    Part('unit', 'tests without a service', _unit, any_release=True),
    Part(
        'functional',
        'tests on a Ceph cluster of their own',
        _functional,
        packages='functional',
        ceph=True,
        any_release=True,
    ),
    Part(
        'devstack',
        'phases of the DevStack plug-in, on a scratch tree',
        _devstack,
        ceph=True,
    ),
    Part(
        'cloud',
        'tests on the sandbox',
        _cloud,
        ceph=True,
        any_release=True,
        sandbox=True,
    ),
    Part(
        'tempest',
        "Tempest on the sandbox: our tests, upstream's on the driver",
        functools.partial(_tempest, tempest_suite.SELECTION),
        ceph=True,
        any_release=True,
        sandbox=True,
    ),
    Part(
        'life',
        'random lives of volumes on the sandbox; what follows -- are options',
        _life,
        ceph=True,
        selects=False,
        any_release=True,
        sandbox=True,
    ),
    Part(
        'cloud-oldest',
        f'tests of cloud on OpenStack {environment.RELEASES[0]}',
        _cloud_oldest,
        ceph=True,
        release=environment.RELEASES[0],
        sandbox=True,
    ),
    Part(
        'tempest-all',
        "the tests of tempest, and all else of upstream's on volumes",
        functools.partial(_tempest, tempest_suite.WHOLE),
        ceph=True,
        any_release=True,
        sandbox=True,
        by_default=False,
    ),
    Part(
        'matrix',
        'older releases: unit and functional on the oldest; contracts and '
        'stock suites on those between',
        matrix.run,
        venv=False,
        selects=False,
    ),
    Part(
        'matrix-all',
        'unit and functional on all older releases',
        matrix.run_all,
        venv=False,
        selects=False,
        by_default=False,
    ),
    Part(
        'platform',
        f'functional on {platform.NAME}',
        platform.run,
        packages='platform',
        venv=False,
        selects=False,
    ),
    Part(
        'packages',
        f'Debian packages of the suite, with those of {platform.NAME}',
        packages.run,
        packages='platform',
        selects=False,
    ),
)
