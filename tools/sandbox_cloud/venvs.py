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

"""The virtual environment of a release, with our own distribution."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import configparser
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from sandbox_cloud import errors
from sandbox_cloud.state import CHECKOUT
from sandbox_cloud.state import State

# The system's Python: Debian's bindings of Ceph and libvirt fit no other.
_PYTHON = '/usr/bin/python3'
_DIST_PACKAGES = pathlib.Path('/usr/lib/python3/dist-packages')
_BINDINGS = (
    *('rados.cpython-*.so', 'rbd.cpython-*.so'),
    *('libvirt.py', 'libvirt_qemu.py', 'libvirtmod*.cpython-*.so'),
)
# What builds our wheel, and the command line clients.
_TOOLS = (
    *('pbr', 'setuptools', 'wheel'),
    *('openstacksdk', 'python-openstackclient', 'python-cinderclient'),
    *('pymysql', 'python-memcached', 'pymemcache', 'pyuwsgi'),
)
# What a wheel is made from, besides the packages that setup.cfg names.
_BUILD_FILES = (
    *('setup.py', 'setup.cfg', 'pyproject.toml', 'MANIFEST.in'),
    *('requirements.txt', 'README.rst', 'LICENSE'),
)


class Venv:
    """The release's services, clients and our distribution."""

    def __init__(self, state: State, release: str) -> None:
        self.path = state.venv(release)
        self._constraints = CHECKOUT / 'constraints' / f'{release}.txt'
        self._built_with = CHECKOUT / 'constraints' / 'build.txt'
        self._uv = state.boot / 'bin' / 'uv'
        self._log = state.log / 'install.log'
        self._environ = {
            **os.environ,
            'UV_CACHE_DIR': str(state.uv_cache),
            'UV_LINK_MODE': 'hardlink',
            'UV_NO_PROGRESS': '1',
            # It leaves lock files behind.
            'TMPDIR': str(state.data),
        }

    @property
    def stamp(self) -> pathlib.Path:
        """A file that changes whenever PyPI's distributions do."""
        return self.path / 'installed.sha256'

    @property
    def site(self) -> pathlib.Path:
        """The folder that packages are installed into."""
        (site,) = (self.path / 'lib').glob('python3*/site-packages')
        return site

    def program(self, name: str) -> str:
        """Return the path of a program in it."""
        return str(self.path / 'bin' / name)

    def install(self, distributions: Iterable[str]) -> bool:
        """Bring distributions from PyPI in; say if there was need to."""
        names = sorted({*distributions, *_TOOLS})
        digest = hashlib.sha256('\n'.join(names).encode())
        for path in (self._constraints, self._built_with):
            digest.update(path.read_bytes())
        if not self._stale('installed', digest.hexdigest()):
            return False
        if not (self.path / 'bin' / 'python').exists():
            self._run('venv', '--python', _PYTHON, '--clear', str(self.path))
        self._pip(
            *('--constraints', str(self._constraints)),
            *('--build-constraints', str(self._built_with), *names),
        )
        self._link_bindings()
        self._stamp('installed', digest.hexdigest())
        return True

    def _link_bindings(self) -> None:
        for name in _BINDINGS:
            for source in _DIST_PACKAGES.glob(name):
                link = self.site / source.name
                link.unlink(missing_ok=True)
                link.symlink_to(source)

    def install_suite(self) -> tuple[str, bool]:
        """Install our distribution as a wheel made from the checkout.

        :returns: what identifies its state, and whether it was installed
        """
        digest = hashlib.sha256()
        sources = sorted(_sources())
        for path in sources:
            digest.update(f'{path.relative_to(CHECKOUT)}\0'.encode())
            digest.update(path.read_bytes())
        suite = digest.hexdigest()
        if not self._stale('suite', suite):
            return suite, False
        with tempfile.TemporaryDirectory(dir=self.path) as name:
            # A copy, since a build leaves files beside its sources.
            tree = pathlib.Path(name) / 'tree'
            for path in sources:
                target = tree / path.relative_to(CHECKOUT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            self._build(tree, suite)
            (wheel,) = (tree / 'dist').glob('*.whl')
            self._pip('--no-deps', '--reinstall', str(wheel))
        self._stamp('suite', suite)
        return suite, True

    def _build(self, tree: pathlib.Path, suite: str) -> None:
        # PBR_VERSION: the copy has no git history to take it from.
        version = f'0.0.0+sandbox.{suite[:12]}'
        self._run(
            *('build', '--wheel', '--no-build-isolation'),
            *('--python', self.program('python')),
            *('--out-dir', str(tree / 'dist'), str(tree)),
            environ={'PBR_VERSION': version},
        )

    def _pip(self, *arguments: str) -> None:
        # Compiled at once: where PYTHONDONTWRITEBYTECODE is set, each
        # start of a service would compile everything anew.
        self._run(
            *('pip', 'install', '--compile-bytecode'),
            *('--python', self.program('python'), *arguments),
        )

    def _run(
        self, *arguments: str, environ: dict[str, str] | None = None
    ) -> None:
        command: Sequence[str] = (str(self._uv), *arguments)
        with self._log.open('a') as log:
            done = subprocess.run(
                command,
                env={**self._environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        if done.returncode:
            raise errors.SandboxError(
                f'uv {" ".join(arguments[:2])} failed; see {self._log}'
            )

    def _stale(self, name: str, wanted: str) -> bool:
        stamp = self.path / f'{name}.sha256'
        return not stamp.exists() or stamp.read_text() != wanted

    def _stamp(self, name: str, value: str) -> None:
        (self.path / f'{name}.sha256').write_text(value)


def _sources() -> Iterator[pathlib.Path]:
    """Every file that ends in the wheel or decides what does."""
    for name in _BUILD_FILES:
        if (CHECKOUT / name).is_file():
            yield CHECKOUT / name
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / 'setup.cfg')
    for package in setup.get('files', 'packages').split():
        for path in (CHECKOUT / package).rglob('*'):
            if path.is_file() and '__pycache__' not in path.parts:
                yield path
