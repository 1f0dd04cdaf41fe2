# SPDX-License-Identifier: Apache-2.0

"""Fixtures with the built distribution and with its man pages."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fixtures

from tests import distribution
from tests import tree

#: Pages to exclude when the man pages are built.
_OTHER_PAGES = 'admin,api,configuration,contributor,install,user,why.rst'
# Read before any test: each test deletes its temporary folder, but all tests
# share the build.
_OUTSIDE = tempfile.gettempdir()


def _folder() -> pathlib.Path:
    scratch = tempfile.mkdtemp(dir=_OUTSIDE)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return pathlib.Path(scratch)


@functools.cache
def _build() -> distribution.Built:
    return distribution.build(_folder() / 'dist')


@functools.cache
def _man_pages() -> dict[str, str]:
    return write_man_pages(_folder())


def write_man_pages(target: pathlib.Path) -> dict[str, str]:
    """Build the man pages from the wheel; return their texts by name."""
    subprocess.run(
        [
            *(sys.executable, '-m', 'sphinx', '-q', '-b', 'man'),
            *('-d', str(target / 'doctrees')),
            *('-D', f'exclude_patterns={_OTHER_PAGES}'),
            *('doc/source', str(target)),
        ],
        cwd=tree.ROOT,
        env={**os.environ, 'PYTHONPATH': str(_build().installed)},
        stdin=subprocess.DEVNULL,
        check=True,
    )
    return {path.stem: path.read_text() for path in target.glob('*.1')}


class BuiltDistribution(fixtures.Fixture):
    """A build that all tests of a process share."""

    built: distribution.Built

    def _setUp(self) -> None:
        self.built = _build()


class ManPages(fixtures.Fixture):
    """Man pages that all tests of a process share."""

    texts: dict[str, str]

    def _setUp(self) -> None:
        self.texts = _man_pages()
