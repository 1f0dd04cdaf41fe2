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

"""Installs what tests need: Debian packages, and a venv for each release.

Debian packages are those of bindep.txt; everything from PyPI goes into the
venvs, at the versions of constraints/. Nothing is reinstalled while the
files that say what is needed stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
from typing import ClassVar

from sandbox_cloud import errors
from sandbox_cloud import packages
from sandbox_cloud import state
from testrun import tree

#: The releases of OpenStack that there are constraints for, oldest first.
RELEASES = tuple(state.releases())
RELEASE = RELEASES[-1]
_BUILD = tree.ROOT / 'constraints' / 'build.txt'
# PyPI has no builds of Ceph's Python bindings; these come with the Debian
# packages python3-rados and python3-rbd and fit the system's Python.
_BINDINGS = ('rados', 'rbd')
_DIST_PACKAGES = pathlib.Path('/usr/lib/python3/dist-packages')


class CannotPrepare(Exception):
    """Something tests need is missing and can't be installed."""


def cache() -> pathlib.Path:
    """Where the venvs live between runs."""
    base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    folder = pathlib.Path(base) / 'rbd-volume-options'
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Venv:
    """The venv of the tests, by the release of OpenStack it holds."""

    #: What it is called, before the release.
    kind: ClassVar[str] = 'test'
    #: Files of what it holds, below the root of the checkout.
    requirements: ClassVar[tuple[str, ...]] = (
        'requirements.txt',
        'test-requirements.txt',
        'doc/requirements.txt',
    )
    #: Whether it, and what it needs of Debian, is ours to install.
    ours: ClassVar[bool] = True

    def __init__(
        self, release: str = RELEASE, path: pathlib.Path | None = None
    ) -> None:
        """Say which it is.

        :param path: the folder of it, where that isn't the one kept for the
            next run
        """
        self.release = release
        self.path = path or cache() / f'{self.kind}-{release}'
        self.constraints = _constraints(release)

    def program(self, name: str) -> str:
        """Path of a program of the venv."""
        return str(self.path / 'bin' / name)

    def environ(self) -> dict[str, str]:
        """The environment that tests and checks run in."""
        path = os.environ.get('PATH', os.defpath)
        return {
            **os.environ,
            'VIRTUAL_ENV': str(self.path),
            'PATH': f'{self.path / "bin"}{os.pathsep}{path}',
            'PYTHONPATH': str(tree.ROOT / 'tools'),
            'PYTHON': self.program('python'),
        }

    def prepare(self) -> None:
        """Make the venv, or bring it up to date."""
        wanted = self._wanted()
        stamp = self.path / 'wanted.sha256'
        if stamp.exists() and stamp.read_text() == wanted:
            return
        print(f'installing what tests need into {self.path}', flush=True)
        if not (self.path / 'bin' / 'python').exists():
            self.make()
        self.install(
            *(
                word
                for name in self.requirements
                for word in ('--requirements', str(tree.ROOT / name))
            )
        )
        stamp.write_text(wanted)

    def make(self) -> None:
        """Make it, with nothing in it."""
        run([uv(), 'venv', '--quiet', '--python', _python(), self.path])

    def install(self, *what: str) -> None:
        """Install into the venv, at the versions of constraints/."""
        install = [uv(), 'pip', 'install', '--quiet', '--compile-bytecode']
        install += ['--python', self.program('python')]
        install += ['--constraints', str(self.constraints)]
        install += ['--build-constraints', str(_BUILD)]
        run([*install, *what])

    def link_bindings(self) -> None:
        """Make Ceph's Python bindings importable in the venv."""
        (site,) = (self.path / 'lib').glob('python3*/site-packages')
        for name in _BINDINGS:
            found = list(_DIST_PACKAGES.glob(f'{name}.cpython-*.so'))
            if not found:
                raise CannotPrepare(
                    f'no {name} in {_DIST_PACKAGES}: install python3-{name}'
                )
            for source in found:
                link = site / source.name
                if not link.is_symlink():
                    link.symlink_to(source)

    def _wanted(self) -> str:
        digest = hashlib.sha256(_python().encode())
        for path in (
            self.constraints,
            _BUILD,
            *(tree.ROOT / name for name in self.requirements),
        ):
            digest.update(path.read_bytes())
        return digest.hexdigest()


class MadeVenv(Venv):
    """A venv with what tests need that somebody else made, such as tox."""

    ours: ClassVar[bool] = False

    def prepare(self) -> None:
        """Say so where there is none; what is in it is not our concern."""
        if not os.access(self.program('python'), os.X_OK):
            raise CannotPrepare(f'no virtual environment in {self.path}')


def install_packages(profile: str) -> None:
    """Install those Debian packages of a profile that are missing."""
    missing = packages.missing(profile)
    if not missing:
        return
    print(f'installing {" ".join(missing)}', flush=True)
    try:
        packages.install(missing, cache() / 'apt.log')
    except errors.SandboxError as error:
        raise CannotPrepare(str(error)) from error


@contextlib.contextmanager
def alone(what: str = 'install') -> Iterator[None]:
    """Let one run at a time do something in the cache; another waits."""
    with (cache() / f'{what}.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _constraints(release: str) -> pathlib.Path:
    return tree.ROOT / 'constraints' / f'{release}.txt'


def uv() -> str:
    """Path of uv, which installs the rest: that of the newest release."""
    venv = cache() / 'boot'
    program = venv / 'bin' / 'uv'
    if not program.exists():
        run([_python(), '-m', 'venv', '--clear', venv])
        pip = [str(venv / 'bin' / 'pip'), '--quiet', '--no-input']
        pip += ['--disable-pip-version-check', 'install']
        run([*pip, '--constraint', _constraints(RELEASE), 'uv'])
    return str(program)


def _python() -> str:
    """The system's Python, which Ceph's bindings were built for."""
    debian = '/usr/bin/python3'
    return debian if os.access(debian, os.X_OK) else sys.executable


def run(command: Sequence[str | pathlib.Path]) -> None:
    """Run a command that prepares something; shown is only what failed."""
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        shown = ' '.join(str(word) for word in command)
        raise CannotPrepare(f'{shown} failed:\n{result.stdout}')
