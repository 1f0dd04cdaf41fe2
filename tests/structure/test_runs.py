# SPDX-License-Identifier: Apache-2.0

"""Each test is part of a run of tools/test."""

import ast
import pathlib
import re

import ddt

from tests import runs
from tests import tree
from tests.unit import base


def _parts() -> set[str]:
    """Return the folders of tests that sessions of nox run."""
    module = ast.parse((tree.ROOT / 'noxfile.py').read_text())
    words = {
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return words & {path.name for path in (tree.ROOT / 'tests').iterdir()}


class RunsTestCase(base.TestCase):
    def test_each_file_of_tests_is_found_by_a_part(self) -> None:
        """Discovery skips a folder without ``__init__.py``, silently."""
        parts, lost = _parts(), []
        for name in map(pathlib.PurePosixPath, tree.files()):
            if name.parts[0] == 'tests' and name.match('test_*.py'):
                folders = [x for x in name.parents if x.name][:-1]
                if name.parts[1] not in parts or not all(
                    (tree.ROOT / x / '__init__.py').exists() for x in folders
                ):
                    lost.append(str(name))
        self.assertEqual([], lost)

    def test_tags_stand_in_files_of_tests(self) -> None:
        """A run for a tag reads only files of tests that name it."""
        others = [
            name
            for name in tree.files()
            if name.startswith('tests/')
            and name.endswith('.py')
            and not pathlib.PurePath(name).name.startswith('test_')
            and re.search(
                r'runs\.(RELEASES|DEBIAN)\b', (tree.ROOT / name).read_text()
            )
        ]
        self.assertEqual([], others)


@ddt.ddt
class TagsTestCase(base.TestCase):
    class Tagged(base.TestCase):
        def test_without_tags(self) -> None: ...

        @runs.tags(runs.NIGHTLY)
        def test_that_is_nightly(self) -> None: ...

        @runs.tags(runs.RELEASES)
        def test_of_releases(self) -> None: ...

    @ddt.data(
        ('test_without_tags', {runs.DEFAULT}),
        ('test_that_is_nightly', set()),
        ('test_of_releases', {runs.DEFAULT, runs.RELEASES}),
    )
    @ddt.unpack
    def test_runs_of_a_test(self, name: str, expected: set[str]) -> None:
        test = self.Tagged(name)
        selected = {run for run in runs.RUNS if runs.is_selected(test, run)}
        self.assertEqual(expected, selected)
        self.assertTrue(runs.is_selected(test, None))

    def test_unknown_tag_is_an_error(self) -> None:
        self.assertRaises(ValueError, runs.tags, 'nightly!')
