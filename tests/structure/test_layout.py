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

"""Where files are, how long they are, what they may not mention."""

import pathlib
import re

import ddt

from tests import tree
from tests.unit import base

#: Lines, the licence among them; a longer module has more than one subject.
LONGEST = 350

# Folders of tests/unit, and what they test.
_MIRRORED = {
    **{package: package for package in tree.PACKAGES},
    'runner': 'tools/runner',
    'sandbox_cloud': 'tools/sandbox_cloud',
    'tempest': 'tests/tempest',
    'packages': 'packages',
    'fakes': 'tests/fakes',
    'life': 'tests/life',
}

# Tests that the wheel ships, for Tempest: they run on a cloud.
_SHIPPED_TESTS = 'cinder_rbd_ext/tempest/tests/'

# Machines differ, so no file may name a folder of one. Put together here
# for this file not to be its own finding.
_MACHINE_PATH = re.compile(
    r'(?<![\w.~/}$-])/(?:'
    + '|'.join(['wo' + 'rk', 'ro' + 'ot', 'ho' + 'me'])
    + r')(?:/|\b)(?!=)'
)


def _modules(folder: str) -> list[str]:
    """Modules below a folder, as paths without it; no `__init__`."""
    return [
        name.removeprefix(f'{folder}/')
        for name in tree.files()
        if name.startswith(f'{folder}/')
        and name.endswith('.py')
        and pathlib.PurePath(name).name != '__init__.py'
    ]


def _mirrors(test: str, modules: list[str]) -> bool:
    """Whether a test file is named after a module.

    test_driver.py or, where one file gets long, test_driver_clone.py.
    """
    path = pathlib.PurePath(test)
    subject = path.stem.removeprefix('test_')
    return any(
        path.parent == pathlib.PurePath(module).parent
        and f'{subject}_'.startswith(f'{pathlib.PurePath(module).stem}_')
        for module in modules
    )


@ddt.ddt
class MirrorTestCase(base.TestCase):
    @ddt.data(*_MIRRORED)
    def test_each_test_file_mirrors_a_module(self, folder: str) -> None:
        modules = _modules(_MIRRORED[folder])
        strays = [
            test
            for test in _modules(f'tests/unit/{folder}')
            if pathlib.PurePath(test).name.startswith('test_')
            and not _mirrors(test, modules)
        ]
        self.assertEqual([], strays)

    @ddt.data(*tree.PACKAGES)
    def test_each_module_has_a_test_file(self, package: str) -> None:
        tests = set(_modules(f'tests/unit/{package}'))
        without = [
            module
            for module in _modules(package)
            if not f'{package}/{module}'.startswith(_SHIPPED_TESTS)
            and str(
                pathlib.PurePath(module).with_name(
                    f'test_{pathlib.PurePath(module).name}'
                )
            )
            not in tests
        ]
        self.assertEqual([], without)

    def test_no_test_folder_without_a_subject(self) -> None:
        folders = {
            pathlib.PurePath(name).parts[2]
            for name in tree.files()
            if name.startswith('tests/unit/')
            and len(pathlib.PurePath(name).parts) > 3
        }
        self.assertEqual(set(), folders - set(_MIRRORED))

    @ddt.data(
        ('test_layout.py', True),
        ('test_layout_random.py', True),
        ('test_layouts.py', False),
        ('sub/test_layout.py', False),
    )
    @ddt.unpack
    def test_the_rule_itself(self, test: str, expected: bool) -> None:
        self.assertIs(expected, _mirrors(test, ['layout.py', 'sizes.py']))


class FilesTestCase(base.TestCase):
    def test_modules_are_short(self) -> None:
        folders = (*tree.PACKAGES, 'tools')
        long = {
            name: lines
            for name in tree.files()
            if name.startswith(tuple(f'{folder}/' for folder in folders))
            and name.endswith('.py')
            and (lines := (tree.ROOT / name).read_text().count('\n')) > LONGEST
        }
        self.assertEqual({}, long)

    def test_no_module_for_everything_else(self) -> None:
        vague = {'utils.py', 'util.py', 'helper.py', 'helpers.py'}
        found = [
            name
            for name in tree.files()
            if pathlib.PurePath(name).name in vague
        ]
        self.assertEqual([], found)

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
