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

"""How long a module may be."""

import pathlib

from tests import tree
from tests.unit import base

#: Lines, the licence among them; a longer module has more than one subject.
LONGEST = 350

#: The same of a module of tests.
LONGEST_TEST = 400


class ModuleSizeTestCase(base.TestCase):
    """Modules are short, and none is for everything else."""

    def _longer(self, folders: tuple[str, ...], limit: int) -> dict[str, int]:
        """Return the modules of folders with more lines than a limit."""
        return {
            name: lines
            for name in tree.files()
            if name.startswith(tuple(f'{folder}/' for folder in folders))
            and name.endswith('.py')
            and (lines := (tree.ROOT / name).read_text().count('\n')) > limit
        }

    def test_modules_are_short(self) -> None:
        folders = (*tree.PACKAGES, 'tools')
        self.assertEqual({}, self._longer(folders, LONGEST))

    def test_modules_of_tests_are_short(self) -> None:
        self.assertEqual({}, self._longer(('tests',), LONGEST_TEST))

    def test_no_module_for_everything_else(self) -> None:
        vague = {'utils.py', 'util.py', 'helper.py', 'helpers.py'}
        found = [
            name
            for name in tree.files()
            if pathlib.PurePath(name).name in vague
        ]
        self.assertEqual([], found)
