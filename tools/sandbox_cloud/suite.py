# SPDX-License-Identifier: Apache-2.0

"""The virtual environment of a sandbox's services and the suite."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import hashlib
import pathlib
import shutil
import tempfile

import tomllib

from sandbox_cloud import venvs
from sandbox_cloud.state import CHECKOUT
from sandbox_cloud.state import State

_BINDINGS = (
    *venvs.CEPH,
    *('libvirt.py', 'libvirt_qemu.py', 'libvirtmod*.cpython-*.so'),
)
# The build requirements of our wheel, and the command line clients.
_TOOLS = (
    *('babel', 'pbr', 'setuptools', 'wheel'),
    *('openstacksdk', 'python-openstackclient', 'python-cinderclient'),
    *('pymysql', 'python-memcached', 'pymemcache', 'pyuwsgi'),
)
# The sources of a wheel, besides the packages that pyproject.toml lists.
_BUILD_FILES = (
    *('setup.py', 'setup.cfg', 'pyproject.toml', 'MANIFEST.in'),
    *('requirements.txt', 'DESCRIPTION.rst', 'LICENSE', 'tools/compiled.py'),
)


class SuiteVenv(venvs.Venv):
    """The release's services, clients and our distribution."""

    def __init__(self, state: State, release: str) -> None:
        super().__init__(
            state.venv(release),
            release,
            state.boot / 'bin' / 'uv',
            state.log / 'install.log',
            {
                'UV_CACHE_DIR': str(state.uv_cache),
                'UV_LINK_MODE': 'hardlink',
                'UV_NO_PROGRESS': '1',
                # It leaves lock files.
                'TMPDIR': str(state.data),
            },
        )

    def bring_services(self, distributions: Iterable[str]) -> None:
        """Install the distributions of services and their clients."""
        if self.bring({*distributions, *_TOOLS}):
            self.link_bindings(*_BINDINGS)

    def bring_suite(self) -> str:
        """Install our distribution as a wheel that is built from the checkout.

        :returns: an identifier of its state
        """
        digest = hashlib.sha256()
        sources = sorted(_sources())
        for path in sources:
            digest.update(f'{path.relative_to(CHECKOUT)}\0'.encode())
            digest.update(path.read_bytes())
        suite = digest.hexdigest()
        if not self.stale('suite', suite):
            return suite
        with tempfile.TemporaryDirectory(dir=self.path) as name:
            # A copy, because a build leaves files next to its sources.
            tree = pathlib.Path(name) / 'tree'
            for path in sources:
                target = tree / path.relative_to(CHECKOUT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            self.run(
                *('build', '--wheel', '--no-build-isolation'),
                *('--python', self.program('python')),
                *('--out-dir', str(tree / 'dist'), str(tree)),
                # The copy has no git history that contains the version.
                PBR_VERSION=f'0.0.0+sandbox.{suite[:12]}',
            )
            (wheel,) = (tree / 'dist').glob('*.whl')
            self.install('--no-deps', '--reinstall', str(wheel))
        self.stamped('suite', suite)
        return suite


def _sources() -> Iterator[pathlib.Path]:
    """All files that are in the wheel or determine its content."""
    for name in _BUILD_FILES:
        if (CHECKOUT / name).is_file():
            yield CHECKOUT / name
    tool = tomllib.loads((CHECKOUT / 'pyproject.toml').read_text())['tool']
    for package in tool['setuptools']['packages']['find']['include']:
        for path in (CHECKOUT / package.rstrip('*')).rglob('*'):
            if path.is_file() and '__pycache__' not in path.parts:
                yield path
