# SPDX-License-Identifier: Apache-2.0
"""A virtual environment of one service, before the suite is added.

The service is installed from PyPI, at the versions in constraints/. Ceph's
bindings come from Debian's packages.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess

import fixtures

from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import tree

#: Environment variable with the OpenStack release to install; the default is
#: the newest.
RELEASE = 'RBD_TEST_RELEASE'
#: The name of our distribution.
SUITE = 'rbd-volume-options'

# Runs pip for an environment without one. Such an environment takes one second
# to create instead of five.
_PIP = """\
#!/bin/sh
exec {pip} --python {python} --no-input --disable-pip-version-check "$@"
"""
# The prefix of the lines in which `uv pip install --dry-run` lists what it
# would install.
_WOULD = ' + '


class Environment(fixtures.Fixture):
    """An environment in which a service is installed."""

    #: The root of its programs and its configuration.
    path: pathlib.Path
    #: The folder into which packages are installed.
    site: pathlib.Path
    #: Names of the distributions that our extra installs in an empty
    #: environment.
    brought_by_extra: set[str]

    def program(self, name: str) -> str:
        """Return the path of a program of the environment."""
        return str(self.path / 'bin' / name)

    def distributions(self) -> set[str]:
        """Return the installed distributions; check their requirements.

        :raises AssertionError: if a requirement is missing or has a wrong
            version
        """
        raise NotImplementedError

    def environ(self, **values: str) -> dict[str, str]:
        """Return environment variables that exclude other environments."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(('OS_', 'PYTHON', 'VIRTUAL_ENV'))
        }
        path = f'{self.path / "bin"}{os.pathsep}{os.environ["PATH"]}'
        return {**kept, 'PATH': path, **values}

    def execute(self, *command: str, **environ: str) -> str:
        """Run a command; return its output.

        :raises AssertionError: if it fails
        """
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self.environ(**environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                f'{" ".join(command)} ended with {done.returncode}:\n'
                f'{done.stdout}'
            )
        return done.stdout


class _Lock(fixtures.Fixture):
    """A lock on a file."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self._path = path

    def _setUp(self) -> None:
        file = self._path.open('w')
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)


class FreshVenv(Environment):
    """The environment of a service, removed after the test.

    It has the same path for each service of a release, and its compiled
    modules are stored outside of it, because the services share most of their
    libraries: otherwise, Python would spend a third of the time of a test on
    compiling. A lock prevents that two runs use it.

    :param service: the name of the service's distribution and of our extra
    :param wheel: the wheel of our distribution
    :param with_service: whether to install the service, or only our extra
    """

    def __init__(
        self, service: str, wheel: pathlib.Path, *, with_service: bool = True
    ) -> None:
        super().__init__()
        self.service = service
        self._with_service = with_service
        self._wheel = wheel

    def _setUp(self) -> None:
        release = os.environ.get(RELEASE, state.releases()[-1])
        name = f'install-{release}'
        self.useFixture(_Lock(venvs.cache() / f'{name}.lock'))
        self._venv = venvs.of_tests(release, path=venvs.cache() / name)
        self.addCleanup(shutil.rmtree, self._venv.path)
        self._compiled = venvs.cache() / f'{name}-compiled'
        self.path = self._venv.path
        self._venv.make()
        self.site = self._venv.site
        for package in tree.PACKAGES:
            # The suite has the same version in each run, but other files.
            compiled = self._compiled / self.site.relative_to('/') / package
            shutil.rmtree(compiled, ignore_errors=True)
        shown = self._install('--dry-run', f'{self._wheel}[{self.service}]')
        self.brought_by_extra = {
            line.removeprefix(_WOULD).partition('==')[0].partition(' @ ')[0]
            for line in shown.splitlines()
            if line.startswith(_WOULD)
        }
        extra = f'{self._wheel}[{self.service}]'
        self._install(self.service if self._with_service else extra)
        self._venv.link_bindings(*venvs.CEPH)
        pip = self.path / 'bin' / 'pip'
        installer = self._venv.uv.with_name('pip')
        pip.write_text(
            _PIP.format(pip=installer, python=self.program('python'))
        )
        pip.chmod(0o755)

    def environ(self, **values: str) -> dict[str, str]:
        """Return environment variables that exclude other environments."""
        compiled = {'PYTHONPYCACHEPREFIX': str(self._compiled)}
        return {**super().environ(), **compiled, **values}

    def _install(self, *what: str) -> str:
        # Not `Venv.install`, which compiles everything: only a part of each
        # service is started.
        pins = self._venv.constraints
        constraints = (
            *('--constraints', str(pins)),
            *('--build-constraints', str(pins.with_name('build.txt'))),
        )
        return self._uv('install', *constraints, *what)

    def _uv(self, command: str, *words: str) -> str:
        python = ('--python', self.program('python'))
        return self.execute(
            str(self._venv.uv), 'pip', command, *python, *words
        )

    def distributions(self) -> set[str]:
        """Return the installed distributions; check their requirements."""
        self._uv('check')
        listed = self._uv('list', '--quiet', '--format', 'freeze')
        return {line.partition('==')[0] for line in listed.splitlines()}
