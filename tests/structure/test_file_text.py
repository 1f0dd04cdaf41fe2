# SPDX-License-Identifier: Apache-2.0

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
    """Every file names its licence and names no folder of a machine."""

    def test_source_files_name_their_licence(self) -> None:
        without = [
            name
            for name in tree.files()
            if name.endswith(('.py', '.js', '.scss', '.sh'))
            and (text := (tree.ROOT / name).read_text())
            and 'SPDX-License-Identifier: Apache-2.0\n' not in text[:100]
        ]
        self.assertEqual([], without)

    def test_no_path_of_a_machine(self) -> None:
        lines = []
        for name in tree.files():
            try:
                text = (tree.ROOT / name).read_text()
            except UnicodeDecodeError:
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if _MACHINE_PATH.search(line):
                    lines.append(f'{name}:{number}: {line.strip()}')
        self.assertEqual([], lines)
