# SPDX-License-Identifier: Apache-2.0

"""Each module has a test module, and tests have telling names."""

import pathlib
import re

import ddt

from tests import tree
from tests.unit import base

# Folders of tests/unit and the folders that they test.
_MIRRORED = {
    **{package: package for package in tree.PACKAGES},
    'runner': 'tools/runner',
    'sandbox_cloud': 'tools/sandbox_cloud',
    'packages': 'packages',
}

# Tempest tests in the wheel, which run on a cloud; and definitions of options,
# which are data that the tests of all layers iterate over.
_UNMIRRORED = ('rbd_tempest_plugin/tests/', 'rbd_volume_options/families/')


def _modules(folder: str) -> list[str]:
    """Return the modules in a folder, without ``__init__``."""
    return [
        name.removeprefix(f'{folder}/')
        for name in tree.files()
        if name.startswith(f'{folder}/')
        and name.endswith('.py')
        and pathlib.PurePath(name).name != '__init__.py'
    ]


def _mirrors(test: str, modules: list[str]) -> bool:
    """Return whether a test file is named after a module.

    Both test_driver.py and test_driver_clone.py are named after driver.py.
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
            if not f'{package}/{module}'.startswith(_UNMIRRORED)
            and str(
                pathlib.PurePath(module).with_name(
                    f'test_{pathlib.PurePath(module).name}'
                )
            )
            not in tests
        ]
        self.assertEqual([], without)

    def test_name_of_each_test_is_a_sentence(self) -> None:
        one_word = [
            f'{name}: {test}'
            for name in tree.files()
            if name.startswith(('tests/', 'rbd_tempest_plugin/'))
            and name.endswith('.py')
            for test in re.findall(
                r'^ *def (test_[a-z0-9]+)\(',
                (tree.ROOT / name).read_text(),
                re.M,
            )
        ]
        self.assertEqual([], one_word)

    def test_no_test_folder_without_a_subject(self) -> None:
        folders = {
            pathlib.PurePath(name).parts[2]
            for name in tree.files()
            if name.startswith('tests/unit/')
            and len(pathlib.PurePath(name).parts) > 3
        }
        self.assertEqual(set(), folders - set(_MIRRORED))
