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

"""Required and forbidden text in files."""

import re

from tests import tree
from tests.unit import base

# No file may name a folder of one machine. The parts are joined here so that
# this file does not match.
_MACHINE_PATH = re.compile(
    r'(?<![\w.~/}$-])/(?:'
    + '|'.join(['wo' + 'rk', 'ro' + 'ot', 'ho' + 'me'])
    + r')(?:/|\b)(?!=)'
)


class FileTextTestCase(base.TestCase):
    """Every file has the license and names no folder of a machine."""

    def test_python_files_have_the_licence(self) -> None:
        without = [
            name
            for name in tree.files()
            if name.endswith('.py')
            and (text := (tree.ROOT / name).read_text())
            and 'Licensed under the Apache License' not in text[:600]
        ]
        self.assertEqual([], without)

    def test_no_path_of_a_machine(self) -> None:
        found = []
        for name in tree.files():
            try:
                text = (tree.ROOT / name).read_text()
            except UnicodeDecodeError:
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if _MACHINE_PATH.search(line):
                    found.append(f'{name}:{number}: {line.strip()}')
        self.assertEqual([], found)

    def test_the_path_rule_itself(self) -> None:
        for word in ('wo' + 'rk', 'ro' + 'ot', 'ho' + 'me'):
            self.assertIsNotNone(_MACHINE_PATH.search(f'see /{word}/main'))
            self.assertIsNotNone(_MACHINE_PATH.search(f'"/{word}"'))
            self.assertIsNone(_MACHINE_PATH.search(f'$HOME/{word}/x'))
            self.assertIsNone(_MACHINE_PATH.search(f'doc/{word}/x'))
