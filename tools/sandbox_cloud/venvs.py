# SPDX-License-Identifier: Apache-2.0

"""A virtual environment with the versions of a release's constraints.

Uses only the standard library: it runs on the system's Python before anything
is installed. The sandbox's services and the tests have such environments.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import fcntl
import hashlib
import os
import pathlib
import subprocess

from sandbox_cloud import errors
from sandbox_cloud import packages
from sandbox_cloud.state import CHECKOUT

#: The system's Python: Debian's Ceph and libvirt bindings require it.
PYTHON = '/usr/bin/python3'
CONSTRAINTS = CHECKOUT / 'constraints'
#: Ceph's bindings, which are in Debian's packages but not on PyPI.
CEPH = ('rados.cpython-*.so', 'rbd.cpython-*.so')
#: Files that list the requirements of tests.
TESTS = ('requirements.txt', 'test-requirements.txt', 'doc/requirements.txt')
_DIST_PACKAGES = pathlib.Path('/usr/lib/python3/dist-packages')
_SHOWN = 30


class Venv:
    """A virtual environment.

    :param path: its folder
    :param release: the OpenStack release whose constraints apply
    :param uv: the path of uv
    :param log: the file for the output of uv
    :param environ: additional environment variables of uv
    :param compiled: whether all modules are compiled when they are installed:
        services that start at the same time would all compile the same ones
    """

    def __init__(
        self,
        path: pathlib.Path,
        release: str,
        uv: pathlib.Path,
        log: pathlib.Path,
        environ: Mapping[str, str] | None = None,
        compiled: bool = True,
    ) -> None:
        self.path = path
        self.release = release
        self.constraints = CONSTRAINTS / f'{release}.txt'
        self.uv = uv
        self._log = log
        self._compiled = compiled
        self._environ = {**os.environ, **(environ or {})}

    @property
    def stamp(self) -> pathlib.Path:
        """A file that changes with the distributions from PyPI."""
        return self.path / 'installed.sha256'

    @property
    def site(self) -> pathlib.Path:
        """The folder into which packages are installed."""
        (site,) = (self.path / 'lib').glob('python3*/site-packages')
        return site

    def program(self, name: str) -> str:
        """Return the path of a program in it."""
        return str(self.path / 'bin' / name)

    def environ(self) -> dict[str, str]:
        """Return an environment in which its programs take precedence."""
        return {
            **os.environ,
            'VIRTUAL_ENV': str(self.path),
            'PATH': f'{self.path / "bin"}{os.pathsep}{os.environ["PATH"]}',
            'PYTHON': self.program('python'),
            'PYTHONPATH': str(CHECKOUT / 'tools'),
        }

    def make(self) -> None:
        """Create it, without packages."""
        self.run('venv', '--python', PYTHON, '--clear', str(self.path))

    def bring(
        self,
        distributions: Iterable[str],
        requirements: Sequence[pathlib.Path] = (),
    ) -> bool:
        """Install distributions from PyPI; return whether any were missing.

        :param requirements: files that list additional distributions
        """
        names = sorted(distributions)
        digest = hashlib.sha256('\n'.join(names).encode())
        held = (self.constraints, CONSTRAINTS / 'build.txt')
        for path in (*held, *requirements):
            digest.update(path.read_bytes())
        if not self.stale('installed', digest.hexdigest()):
            return False
        if not (self.path / 'bin' / 'python').exists():
            self.make()
        files = [f'--requirements={path}' for path in requirements]
        self.install(
            *('--constraints', str(self.constraints)),
            *('--build-constraints', str(held[1]), *files, *names),
        )
        self.stamped('installed', digest.hexdigest())
        return True

    def install(self, *words: str) -> None:
        """Install something with uv."""
        python = ('--python', self.program('python'))
        compiled = ['--compile-bytecode'] if self._compiled else []
        self.run('pip', 'install', *compiled, *python, *words)

    def link_bindings(self, *names: str) -> None:
        """Make modules of Debian's packages importable in it.

        PyPI has no builds of these modules.

        :param names: patterns of file names
        :raises SandboxError: a module is missing
        """
        for name in names:
            sources = list(_DIST_PACKAGES.glob(name))
            if not sources:
                raise errors.SandboxError(f'no {name} in {_DIST_PACKAGES}')
            for source in sources:
                link = self.site / source.name
                if not link.is_symlink():
                    link.symlink_to(source)

    def run(self, *words: str, **environ: str) -> None:
        """Run uv.

        :raises SandboxError: uv failed; contains the end of its output
        """
        self._log.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [str(self.uv), *words],
            env={**self._environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            check=False,
        )
        with self._log.open('a') as log:
            log.write(done.stdout)
        if done.returncode:
            end = '\n  '.join(done.stdout.splitlines()[-_SHOWN:])
            raise errors.SandboxError(
                f'uv {" ".join(words[:2])} failed; the end of '
                f'{self._log}:\n  {end}'
            )

    def stale(self, name: str, wanted: str) -> bool:
        """Return whether a stamp is missing or differs."""
        stamp = self.path / f'{name}.sha256'
        return not stamp.exists() or stamp.read_text() != wanted

    def stamped(self, name: str, value: str) -> None:
        """Write a stamp."""
        (self.path / f'{name}.sha256').write_text(value)


def cache() -> pathlib.Path:
    """Return the folder that caches the dependencies of tests."""
    base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    folder = pathlib.Path(base) / 'rbd-volume-options'
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def of_tests(
    release: str, kind: str = 'test', path: pathlib.Path | None = None
) -> Venv:
    """Return a virtual environment of the tests.

    :param kind: its name, without the release
    :param path: its folder, if it is not the one that is kept between runs
    """
    return Venv(
        path or cache() / f'{kind}-{release}',
        release,
        cache() / 'runner' / 'bin' / 'uv',
        cache() / 'install.log',
        # Tests import a part of what is installed.
        compiled=False,
    )


def for_tests(
    release: str,
    profile: str | None = 'test',
    kind: str = 'test',
    requirements: Sequence[str] = TESTS,
) -> Venv:
    """Return a virtual environment of the tests with their dependencies.

    These include Ceph's bindings from Debian's packages. Only one run at a
    time installs; others wait.

    :param profile: the profile of bindep.txt whose packages must be
        installed. Without one, Ceph's bindings are missing, and nothing needs
        root access.
    """
    venv = of_tests(release, kind)
    with (cache() / 'install.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if profile:
            packages.bring(profile, cache() / 'apt.log')
        venv.bring((), [CHECKOUT / name for name in requirements])
        if profile:
            venv.link_bindings(*CEPH)
    return venv
