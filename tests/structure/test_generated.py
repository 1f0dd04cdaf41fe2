# SPDX-License-Identifier: Apache-2.0

"""Generated files are not in git, and equal sources make equal files."""

import hashlib
import importlib
import pathlib
import subprocess
import sys
from typing import Any

import compiled
import fixtures

from tests import tree
from tests.unit import base

_DOC = tree.ROOT / 'doc'


class GeneratedTestCase(base.TestCase):
    def test_git_has_no_ignored_file(self) -> None:
        """What a build writes is ignored, and git tracks nothing of it."""
        command = ['git', 'ls-files', '--cached', '--ignored']
        done = subprocess.run(
            [*command, '--exclude-standard'],
            cwd=tree.ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual('', done.stdout)

    def _files_of_services(self) -> dict[str, str]:
        made = [compiled.METADEFS, *tree.ROOT.glob('*/locale/*/*/*.mo')]
        for path in made:
            path.unlink(missing_ok=True)
        compiled.write()
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in made
        }

    def test_files_of_services(self) -> None:
        self.assertEqual(self._files_of_services(), self._files_of_services())

    def _plots(self) -> dict[str, str]:
        plots: Any = importlib.import_module('plots')
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        measured = _DOC / 'source/measured'
        plots.draw(measured / 'driver-calls.csv', folder / 'calls', 'ratio')
        figures = measured / 'cern-2013.csv'
        plots.draw(figures, folder / 'caches', 'ratio', run='caches')
        return {path.name: path.read_text() for path in folder.iterdir()}

    def test_plots_are_the_same_each_time(self) -> None:
        sys.path.append(str(_DOC / 'ext'))
        self.addCleanup(sys.path.remove, str(_DOC / 'ext'))
        plots = self._plots()
        self.assertIn('writeback', plots['caches'])
        self.assertEqual(plots, self._plots())
