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

"""Maximum lengths of modules and functions, and number of modules."""

import ast
from collections.abc import Iterator
import pathlib
import re

from tests import tree
from tests.unit import base

#: Lines, including the license; a longer module has more than one subject.
LONGEST = 350

#: The maximum for a test module.
LONGEST_TEST = 400

#: The maximum for a function, including its docstring.
LONGEST_FUNCTION = 50

#: The maximum number of modules at the top level of cinder_rbd_ext; others
#: belong in the folder of their subject.
MOST_AT_THE_TOP = 14


#: What the limits apply to, apart from tests.
_SHIPPED = (*tree.PACKAGES, 'tools', 'benchmarks')


def _functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield each function of a module with its number of lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


class ModuleSizeTestCase(base.TestCase):
    """Modules are short, and none is for miscellaneous code."""

    def _longer(self, folders: tuple[str, ...], limit: int) -> dict[str, int]:
        """Return the modules of folders that exceed a number of lines."""
        return {
            name: lines
            for name in tree.files()
            if name.startswith(tuple(f'{folder}/' for folder in folders))
            and name.endswith(('.py', '.js'))
            and (lines := (tree.ROOT / name).read_text().count('\n')) > limit
        }

    def test_modules_are_short(self) -> None:
        self.assertEqual({}, self._longer(_SHIPPED, LONGEST))

    def test_modules_of_tests_are_short(self) -> None:
        self.assertEqual({}, self._longer(('tests',), LONGEST_TEST))

    def test_functions_are_short(self) -> None:
        found = {
            f'{name}:{function}': lines
            for name in tree.files()
            if name.startswith(tuple(f'{folder}/' for folder in _SHIPPED))
            and name.endswith('.py')
            for function, lines in _functions((tree.ROOT / name).read_text())
        }
        self.assertLess(1000, len(found))
        self.assertEqual(
            {}, {k: v for k, v in found.items() if v > LONGEST_FUNCTION}
        )

    def test_length_of_a_function(self) -> None:
        source = 'class A:\n    @x\n    def f(self):\n        1\n        2\n'
        self.assertEqual([('f', 3)], list(_functions(source)))

    def test_few_modules_at_the_top(self) -> None:
        found = [
            name
            for name in tree.files()
            if re.fullmatch(r'cinder_rbd_ext/\w+\.py', name)
        ]
        self.assertIn('cinder_rbd_ext/driver.py', found)
        self.assertGreaterEqual(MOST_AT_THE_TOP, len(found), found)

    def test_no_module_for_everything_else(self) -> None:
        vague = {'utils.py', 'util.py', 'helper.py', 'helpers.py'}
        found = [
            name
            for name in tree.files()
            if pathlib.PurePath(name).name in vague
        ]
        self.assertEqual([], found)
