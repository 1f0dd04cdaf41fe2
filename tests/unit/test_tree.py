# SPDX-License-Identifier: Apache-2.0

import pathlib
import subprocess

import fixtures

from tests import tree
from tests.unit import base


class TreeTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._git('init', '--quiet')

    def _git(self, *arguments: str) -> str:
        return subprocess.run(
            ['git', *arguments],
            cwd=self.root,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def _write(self, name: str, text: str = '') -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_files_are_those_git_has_or_would_add(self) -> None:
        self._write('.gitignore', '*.log\n')
        self._write('committed.py')
        self._write('new.py')
        self._write('run.log')
        self._write('gone.py')
        self._git('add', 'committed.py', 'gone.py')
        (self.root / 'gone.py').unlink()
        self.assertEqual(
            ['.gitignore', 'committed.py', 'new.py'], tree.files(self.root)
        )

    def test_export_has_the_files_and_two_commits(self) -> None:
        self._write('package/new.py', 'x = 1\n')
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'to')
        tree.export(target, self.root)
        self.assertEqual(['package/new.py'], tree.files(target))
        commits = subprocess.run(
            ['git', 'rev-list', '--count', 'HEAD'],
            cwd=target,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        self.assertEqual('2', commits.strip())
