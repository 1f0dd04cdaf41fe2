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
"""A virtual environment of one service, as those have it who add the suite.

The service comes from PyPI, at the versions of constraints/, and Ceph's
bindings from Debian's packages; the suite isn't in it yet.
"""

import os
import pathlib
import subprocess

import fixtures

from sandbox_cloud import state
from sandbox_cloud import venvs

#: The release of OpenStack to install, where it isn't the newest.
RELEASE = 'RBD_TEST_RELEASE'
#: What our distribution is called.
SUITE = 'rbd-volume-options'

# pip for an environment without one: it takes a second instead of five.
_PIP = """\
#!/bin/sh
exec {pip} --python {python} --no-input --disable-pip-version-check "$@"
"""
# How `uv pip install --dry-run` begins the lines on what it would install.
_WOULD = ' + '


class Environment(fixtures.Fixture):
    """Where a service is installed."""

    #: The folder that its programs and its configuration are below.
    path: pathlib.Path
    #: The folder that packages are installed into.
    site: pathlib.Path
    #: Names of what our extra brings where nothing is.
    brought_by_extra: set[str]

    def program(self, name: str) -> str:
        """Return the path of a program of the environment."""
        return str(self.path / 'bin' / name)

    def distributions(self) -> set[str]:
        """Return the names of what is installed; check that it fits.

        :raises AssertionError: something is missing, or of a wrong version
        """
        raise NotImplementedError

    def environ(self, **values: str) -> dict[str, str]:
        """Return an environment in which nothing but this one is found."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(('OS_', 'PYTHON', 'VIRTUAL_ENV'))
        }
        path = f'{self.path / "bin"}{os.pathsep}{os.environ["PATH"]}'
        return {**kept, 'PATH': path, **values}

    def execute(self, *command: str, **environ: str) -> str:
        """Run a command; return what it says.

        :raises AssertionError: it failed
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


class FreshVenv(Environment):
    """The environment of a service, gone after the test.

    :param service: the name of its distribution, and of our extra for it
    :param wheel: our distribution
    """

    def __init__(self, service: str, wheel: pathlib.Path) -> None:
        super().__init__()
        self.service = service
        self._wheel = wheel

    def _setUp(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        release = os.environ.get(RELEASE, state.releases()[-1])
        self._venv = venvs.of_tests(release, path=folder / 'venv')
        self.path = self._venv.path
        self._venv.make()
        self.site = self._venv.site
        shown = self._install('--dry-run', f'{self._wheel}[{self.service}]')
        self.brought_by_extra = {
            line.removeprefix(_WOULD).partition('==')[0].partition(' @ ')[0]
            for line in shown.splitlines()
            if line.startswith(_WOULD)
        }
        self._install(self.service)
        self._venv.link_bindings(*venvs.CEPH)
        pip = self.path / 'bin' / 'pip'
        installer = self._venv.uv.with_name('pip')
        pip.write_text(
            _PIP.format(pip=installer, python=self.program('python'))
        )
        pip.chmod(0o755)

    def _install(self, *what: str) -> str:
        # Not `Venv.install`, which compiles everything: of each service only
        # a part is started.
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
        """Return the names of what is installed; check that it fits."""
        self._uv('check')
        listed = self._uv('list', '--quiet', '--format', 'freeze')
        return {line.partition('==')[0] for line in listed.splitlines()}
