# SPDX-License-Identifier: Apache-2.0

import pathlib
import re

import ddt

import rbd_tempest_plugin
from tests import tree
from tests.unit import base


@ddt.ddt
class ListsTest(base.TestCase):
    @ddt.data('include.txt', 'whole.txt')
    def test_list_has_all_tests_of_our_plugin(self, name: str) -> None:
        lines = (tree.ROOT / 'tests/tempest' / name).read_text().splitlines()
        patterns = [line for line in lines if line and line[0] != '#']
        folder = pathlib.Path(rbd_tempest_plugin.__file__).parent
        modules = [
            '.'.join(path.relative_to(folder.parent).with_suffix('').parts)
            for path in folder.glob('tests/*/test_*.py')
        ]
        self.assertTrue(modules)
        for module in modules:
            self.assertTrue(
                any(re.search(each, f'{module}.X') for each in patterns),
                module,
            )
