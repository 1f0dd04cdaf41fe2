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

"""This documentation, the release notes and the samples can be made."""

import os
import pathlib
import subprocess
import sys

import ddt
import fixtures

from tests import tree
from tests.structure import built
from tests.unit import base

_PROGRAMS = pathlib.Path(sys.executable).parent
_SAMPLES = 'etc/oslo-config-generator/'
#: What need not be read for the man pages.
_OTHER_PAGES = 'admin,api,configuration,contributor,install,user'


def _man_text(path: pathlib.Path) -> list[str]:
    """Return the lines of a man page without comments."""
    lines = path.read_text().splitlines()
    return [line for line in lines if not line.startswith('.\\"')]


@ddt.ddt
class PagesTestCase(base.TestCase):
    """Of what gets installed: the wheel, its entry points among it."""

    # Sphinx reads all of it.
    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.built = self.useFixture(built.BuiltDistribution()).built

    def _make(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(_PROGRAMS / program), *arguments],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(self.built.installed)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)

    @ddt.data('doc/source', 'releasenotes/source')
    def test_pages(self, source: str) -> None:
        warn = ('-W', '--keep-going', '-q')
        self._make('sphinx-build', *warn, source, self.folder)

    def test_man_pages(self) -> None:
        """Those of the tree, which are installed, are up to date."""
        kept = tree.ROOT / 'doc' / 'man'
        doctrees = f'{self.folder}/doctrees'
        made = pathlib.Path(self.folder, 'man')
        self._make(
            *('sphinx-build', '-q', '-b', 'man', '-d', doctrees),
            *('-D', f'exclude_patterns={_OTHER_PAGES}'),
            *('doc/source', str(made)),
        )
        self.assertEqual(
            {path.name: _man_text(path) for path in kept.iterdir()},
            {path.name: _man_text(path) for path in made.glob('*.1')},
            'tox -e manpages makes them again',
        )

    def test_samples(self) -> None:
        names = [x for x in tree.files() if x.startswith(_SAMPLES)]
        self.assertNotEqual([], names)
        for name in names:
            out = ('--output-file', f'{self.folder}/sample')
            self._make('oslo-config-generator', '--config-file', name, *out)
