# SPDX-License-Identifier: Apache-2.0

"""The parts of tools/test, as sessions of nox.

Each session stores its results as subunit streams in the folder that
RBD_TEST_RESULTS names. RBD_TEST_RELEASE names a release other than the newest.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import nox
import yaml

ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]

import bill_of_materials
from runner import changed
from runner import client_programs
from runner import results
from sandbox_cloud import packages
from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import runs
from tests import tree

*OLDER, NEWEST = state.releases()
OLDEST = OLDER[0]
LOG = venvs.cache() / 'apt.log'
RELEASE = os.environ.get('RBD_TEST_RELEASE') or NEWEST
RESULTS = pathlib.Path(os.environ.get('RBD_TEST_RESULTS') or ROOT / '.nox')
SANDBOX = str(ROOT / 'tools' / 'sandbox')
nox.options.default_venv_backend = 'none'
# The sessions that tools/test runs in parallel: by default, for `all`, and if
# a regular expression selects tests. OTHERS, RELEASES and DEBIAN run only for
# the newest release.
TESTS = ['others', 'others-all', 'others-regex']
OTHERS = TESTS[:2] if RELEASE == NEWEST else []
RELEASES = ['releases', 'releases-all'] if RELEASE == NEWEST else []
DEBIAN = ['debian', 'debian-all'] if RELEASE == NEWEST else []
# Beside those on Debian 13 and for other releases, so that the lanes take
# about the same time.
BESIDE = [*DEBIAN, TESTS[2]] if DEBIAN else TESTS
FIRST = [*RELEASES, TESTS[2]] if RELEASES else TESTS
CLOUD = ['sandbox', 'sandbox-all', 'sandbox-regex']
ALL = os.environ.get('RBD_TEST_ALL') == '1'
INSIDE = bool(os.environ.get('RBD_TEST_INSIDE'))


def _saved(session: nox.Session, name: str) -> pathlib.Path:
    saved = RESULTS / str(session.name) / f'{name}.subunit'
    saved.parent.mkdir(parents=True, exist_ok=True)
    return saved


def _end(session: nox.Session, status: int = 0) -> None:
    total = results.total(RESULTS / session.name)
    if total.failed or status or not (total.passed or session.posargs):
        session.error(f'{total}; status {status}')


def _stestr(session: nox.Session, part: str, release: str = RELEASE) -> None:
    """Run a folder of tests, then the subfolders that must run alone.

    Tags select the tests, unless regular expressions do.
    """
    run = runs.DEBIAN if INSIDE else runs.DEFAULT
    run = run if release == RELEASE else runs.RELEASES
    profile = 'functional' if part in ('functional', 'packages') else 'test'
    workers = 2 if part in ('unit', 'devstack') else 1
    venv = venvs.for_tests(release, profile)
    environ = {**venv.environ(), 'RBD_TEST_RELEASE': release}
    environ[runs.RUN] = '' if session.posargs or ALL else run
    if part == 'clients':
        client_programs.bring()
    if part in ('cloud', 'clients'):
        environ = {**_sandbox(release), **environ}
    if part in ('install', 'clients'):
        # Tests have their own HOME, without the cache of uv and of programs.
        environ['XDG_CACHE_HOME'] = str(venvs.cache().parent)
    below = [x for x in runs.FOLDERS if x.startswith(f'tests/{part}/')]
    for folder in (f'tests/{part}', *below):
        kept = venv.path / 'results' / folder
        kept.mkdir(parents=True, exist_ok=True)
        command = [venv.program('stestr'), '--test-path', folder, '--repo-url']
        command += [str(kept), 'run', '--subunit', f'--concurrency={workers}']
        saved = _saved(session, folder.replace('/', '.'))
        env = {**environ, runs.FOLDER: folder}
        results.follow([*command, *session.posargs], saved, env=env)
    _end(session)


def _hooks(session: nox.Session, types: bool) -> None:
    """Run hooks of pre-commit; each counts as one test."""
    env = venvs.for_tests(NEWEST).environ()
    text = (ROOT / '.pre-commit-config.yaml').read_text()
    for hook in (x['id'] for x in yaml.safe_load(text)['repos'][0]['hooks']):
        if types == (hook == 'mypy'):
            command = [sys.executable, '-m', 'pre_commit', 'run', hook]
            # Include files that are not added yet.
            command += ['--color', 'never', '--files', *tree.files()]
            results.check(command, _saved(session, hook), env=env)
    _end(session)


def _quick(session: nox.Session) -> None:
    """Check what was changed: style, types and its unit tests.

    It needs neither root access nor a service.
    """
    venv = venvs.for_tests(NEWEST, None, 'quick')
    env, names = venv.environ(), changed.files(ROOT)
    text = (ROOT / '.pre-commit-config.yaml').read_text()
    for hook in yaml.safe_load(text)['repos'][0]['hooks']:
        program = hook['entry'].split()[0]
        if shutil.which(program, path=env['PATH']):
            command = [sys.executable, '-m', 'pre_commit', 'run', hook['id']]
            command += ['--color', 'never', '--files', *names]
            results.check(command, _saved(session, hook['id']), env=env)
        else:
            session.log(f'{program} is not installed')
    tests = changed.unit_tests(names, ROOT)
    for folder in ('tests/unit', *runs.FOLDERS):
        modules = [x for x in tests if _folder(x) == folder]
        if modules:
            command = [venv.program('python'), '-m', 'subunit.run']
            command += [x[: -len('.py')].replace('/', '.') for x in modules]
            saved = _saved(session, folder.replace('/', '.'))
            results.follow(command, saved, env={**env, runs.FOLDER: folder})
    _end(session)


def _folder(test: str) -> str:
    """Return the folder whose process runs a file of unit tests."""
    alone_in = (x for x in runs.FOLDERS if test.startswith(f'{x}/'))
    return next(alone_in, 'tests/unit')


def _javascript(session: nox.Session) -> None:
    """Run the tests and the linter of the dashboard's scripts."""
    if not shutil.which('npm'):
        packages.bring('javascript', LOG)
    for name in ('ci', 'test', 'run lint'):
        command = ['npm', '--prefix', 'tests/javascript', *name.split()]
        results.check(command, _saved(session, name))
    _end(session)


def _sandbox(release: str) -> dict[str, str]:
    """Start the sandbox; return the environment of its clients.

    If the sandbox was not up before, a file tells tools/test to stop it.
    """
    shown = subprocess.run([SANDBOX, 'status', '--json'], stdout=-1).stdout
    status, ours = json.loads(shown), RESULTS / 'sandbox'
    if not status['up']:
        ours.touch()
    if ours.exists() and status['release'] not in (None, release):
        subprocess.run([SANDBOX, 'down', '--keep-venv'], check=True)
    subprocess.run([SANDBOX, 'up', '--release', release], check=True)
    env = json.loads(subprocess.check_output([SANDBOX, 'env', '--json']))
    # The programs of the tests take precedence over those of the cloud.
    del env['PATH']
    shots = str(venvs.cache() / f'screenshots-{release}')
    return {'RBD_TEST_SCREENSHOTS': shots, **os.environ, **env}


def _program(session: nox.Session, module: str, *options: str) -> None:
    """Run a program that tests the sandbox and writes a subunit stream."""
    venv = venvs.for_tests(RELEASE)
    command = [venv.program('python'), '-m', module, *options]
    env = {**_sandbox(RELEASE), **venv.environ(), 'RBD_TEST_RELEASE': RELEASE}
    command += session.posargs
    results.follow(command, _saved(session, module), env=env)
    _end(session)


def _wait(command: list[str], env: dict[str, str]) -> int:
    """Run a command, which removes its cluster itself after Ctrl-C."""
    with subprocess.Popen(command, env=env) as child:
        return child.wait()


def _debian(session: nox.Session, suite: str, part: str) -> None:
    """Run a part on another release of Debian, in a separate folder."""
    if INSIDE:
        packages.bring(part, LOG)
        return _stestr(session, part)
    packages.bring('platform', LOG)
    root = venvs.cache() / suite
    env = {**os.environ, 'RBD_TEST_INSIDE': '1'}
    with tempfile.TemporaryDirectory() as scratch:
        tree.export(pathlib.Path(scratch))
        command = [str(ROOT / 'tools/runner/debian.sh'), suite, str(root)]
        command += [scratch, part, '--', *session.posargs]
        status = _wait(command, env)
    for path in (root / 'srv' / 'results').glob('*/*.*'):
        shutil.copy(path, _saved(session, path.stem).parent)
    return _end(session, status)


def _cluster(session: nox.Session) -> None:
    """Start the cluster of functional tests for those of another release."""
    venv = venvs.for_tests(RELEASE, 'functional')
    command = [venv.program('python'), '-m', 'tests.functional.ceph']
    _wait(command, venv.environ())


def _platform(session: nox.Session, suite: str) -> None:
    """Run the tests of a cloud on another release of Debian."""
    if (RESULTS / 'sandbox').exists():
        # It would use the same ports.
        subprocess.run([SANDBOX, 'down', '--keep-venv'], check=True)
    root = venvs.cache() / f'sandbox-{suite}'
    # The tree contains the folder of the sandbox, but not that of the results.
    inner = root / 'results'
    env = {**os.environ, 'RBD_SANDBOX_STATE': str(root)}
    env['RBD_TEST_RESULTS'] = str(inner)
    command = [SANDBOX, 'exec', '--', str(ROOT / 'tools' / 'test'), 'cloud']
    command += ['tempest', '--', *session.posargs]
    up = [SANDBOX, 'up', '--platform', suite]
    try:
        subprocess.run(up, check=True, env=env)
        status = subprocess.run(command, env=env).returncode
        for path in inner.glob('*/*.*'):
            shutil.copy(path, _saved(session, path.stem).parent)
    finally:
        subprocess.run([SANDBOX, 'down'], env=env)
    return _end(session, status)


def _part(name: str, tags: list[str], run: Any, *how: Any) -> None:
    """Add a session that calls a function with arguments."""

    def part(session: nox.Session) -> None:
        run(session, *how)

    nox.session(part, name=name, tags=tags)


_part('quick', [], _quick)
_part('lint', RELEASES, _hooks, False)
_part('types', RELEASES, _hooks, True)
_part('structure', OTHERS and FIRST, _stestr, 'structure')
_part('install', BESIDE, _stestr, 'install')
_part('unit', BESIDE, _stestr, 'unit')
_part('functional', TESTS, _stestr, 'functional')
_part('javascript', OTHERS and RELEASES, _javascript)
_part('devstack', OTHERS and FIRST, _stestr, 'devstack')
_part('cloud', CLOUD, _stestr, 'cloud')
_part('tempest', CLOUD[::2], _program, 'tests.tempest', 'include.txt')
# The same sequences in each run: a failure is of the change, not of the draw.
# Long runs are for other seeds; of an option given twice the last one counts.
_LIFE = ['--subunit', '--seed', '261122', '--minutes', '1', '--steps', '9']
_part('life', CLOUD[1:2], _program, 'tests.life', *_LIFE)
_part('trust', CLOUD[:2], _program, 'tests.trust', '--subunit')
_part('tempest-all', CLOUD[1:2], _program, 'tests.tempest', 'whole.txt')
_part('cloud-trixie', OTHERS and CLOUD[1:2], _platform, 'trixie')
_part('cloud-forky', OTHERS and CLOUD[1:2], _platform, 'forky')
_part('clients', OTHERS and CLOUD[1:2], _stestr, 'clients')
# The contract with the oldest release is in matrix; this found differences of
# OpenStack, and no defect of the suite.
_part('cloud-oldest', OTHERS and CLOUD[1:2], _stestr, 'cloud', OLDEST)
EVERY = [(x, y) for x in OLDER for y in ('install', 'unit', 'functional')]


@nox.session(tags=RELEASES)
@nox.parametrize(['release', 'part'], EVERY, ids=[' '.join(x) for x in EVERY])
def matrix(session: nox.Session, release: str, part: str) -> None:
    """Run parts on an older release."""
    if not (ALL or part == 'unit'):
        session.skip('only tools/test all runs it on this release')
    _stestr(session, part, release)


@nox.session
def materials(session: nox.Session) -> None:
    """Write the files in licenses/; this is not part of tools/test."""
    venv = venvs.of_tests(NEWEST, 'materials')
    required, optional = bill_of_materials.requirements()
    venv.bring([*required, *optional])
    bill_of_materials.write(str(venv.uv), venv.program('python'))


@nox.session
def emptied(session: nox.Session) -> None:
    """Empty each function of the named folders: does a unit test fail?"""
    venv = venvs.for_tests(NEWEST, None, 'quick')
    command = [venv.program('python'), '-m', 'runner.emptied']
    env = {**venv.environ(), 'PYTHONPATH': f'{ROOT}/tools:{ROOT}'}
    command += session.posargs or ['rbd_volume_options']
    subprocess.run(command, cwd=ROOT, env=env, check=True)


_part('platform', DEBIAN, _debian, 'trixie', 'functional')
_part('platform-forky', DEBIAN[1:], _debian, 'forky', 'functional')
_part('packages', DEBIAN, _debian, 'trixie', 'packages')
_part('cluster', [], _cluster)
_part('cluster-trixie', [], _debian, 'trixie', 'cluster')
_part('cluster-forky', [], _debian, 'forky', 'cluster')
