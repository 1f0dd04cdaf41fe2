# SPDX-License-Identifier: Apache-2.0

"""Which files and unit tests belong to a change."""

import pathlib
import subprocess

import ddt
import fixtures

from runner import changed
from tests.unit import base

_GIT = ('git', '-c', 'user.name=a', '-c', 'user.email=a@localhost')


@ddt.ddt
class ChangedTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._git('init', '--quiet', '--initial-branch', 'main')
        self._commit('README.rst')

    def _git(self, *words: str) -> None:
        subprocess.run([*_GIT, *words], cwd=self.root, check=True)

    def _commit(self, *names: str) -> None:
        self._write(*names)
        self._git('add', '--all')
        self._git('commit', '--quiet', '--message', 'a change')

    def _write(self, *names: str) -> None:
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'{name}\n')

    def test_commits_of_a_branch_and_files_without_one_are_changed(
        self,
    ) -> None:
        self._git('checkout', '--quiet', '-b', 'topic')
        self._commit('rbd/one.py')
        self._commit('rbd/other.py')
        self._write('rbd/new.py')
        self._git('rm', '--quiet', 'rbd/one.py')
        self.assertEqual(
            ['rbd/new.py', 'rbd/other.py'], changed.files(self.root)
        )

    def test_last_commit_is_the_change_of_a_clean_main_branch(self) -> None:
        self._commit('rbd/one.py')
        self._commit('rbd/other.py')
        self.assertEqual(['rbd/other.py'], changed.files(self.root))

    @ddt.data(
        ('rbd/a/noun.py', ['a/test_noun', 'a/test_noun_killed']),
        ('rbd/a/verb.py', ['a/test_noun', 'a/test_noun_killed']),
        (
            'tests/unit/rbd/a/test_noun.py',
            ['a/test_noun', 'a/test_noun_killed'],
        ),
        ('tests/unit/rbd/a/samples.py', ['a/test_noun', 'a/test_noun_killed']),
        ('rbd/other.py', ['test_other']),
        ('doc/source/noun.rst', []),
        ('noun.py', []),
    )
    @ddt.unpack
    def test_tests_of_a_file_have_its_name_and_folder(
        self, name: str, tests: list[str]
    ) -> None:
        self._write('tests/unit/test_noun.py')
        for test in ('a/test_noun', 'a/test_noun_killed', 'test_other'):
            self._write(f'tests/unit/rbd/{test}.py')
        wanted = [f'tests/unit/rbd/{test}.py' for test in tests]
        self.assertEqual(wanted, changed.unit_tests([name], self.root))

    def test_programs_of_tools_have_their_tests_without_that_folder(
        self,
    ) -> None:
        self._write('tests/unit/runner/test_noun.py')
        self.assertEqual(
            ['tests/unit/runner/test_noun.py'],
            changed.unit_tests(['tools/runner/noun.py'], self.root),
        )
