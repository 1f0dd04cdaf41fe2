# SPDX-License-Identifier: Apache-2.0

"""Generated files are not in git, and equal sources make equal files."""

import hashlib
import importlib
import pathlib
import shutil
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
        """Write the files to another folder: other tests read those here."""
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for path in tree.ROOT.glob('*/locale/*/*/*.po'):
            copy = root / path.relative_to(tree.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        metadefs = root / compiled.METADEFS.relative_to(compiled.ROOT)
        for name, value in (('ROOT', root), ('METADEFS', metadefs)):
            self.useFixture(fixtures.MonkeyPatch(f'compiled.{name}', value))
        compiled.write()
        return {
            str(path.relative_to(root)): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in (metadefs, *root.rglob('*.mo'))
        }

    def test_files_of_services(self) -> None:
        written = self._files_of_services()
        self.assertLess(1, len(written))
        self.assertEqual(written, self._files_of_services())

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
