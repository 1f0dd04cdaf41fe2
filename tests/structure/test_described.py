# SPDX-License-Identifier: Apache-2.0

"""What pages list of the code is complete."""

import re

from tests import tree
from tests.unit import base

_DOC = tree.ROOT / 'doc/source'
#: A function of Horizon's module for Cinder that is replaced.
_WRAPPED = re.compile(r'^ *cinder\.(\w+) = |^_METHODS = \((.+)\)$', re.M)
#: A list item or a prompt in the middle of a line: two lines were joined.
_JOINED = re.compile(
    r'^ *(?:#\.|-) (?:#\.|[*-]) |^ *\* (?:#\.|\*) |^ *\$ .* \$(?: |$)', re.M
)


class DescribedTestCase(base.TestCase):
    """Functions that are replaced in memory, and commands on pages."""

    def test_wrapped_functions_of_horizon(self) -> None:
        section = (_DOC / 'install/run-time.rst').read_text()
        wrapped = {
            name.strip(" '")
            for path in (tree.ROOT / 'horizon_volume_opts').rglob('*.py')
            for found in _WRAPPED.findall(path.read_text())
            for name in ''.join(found).split(',')
        }
        self.assertGreater(len(wrapped), 3)
        for name in wrapped:
            self.assertIn(f'``{name}``', section)

    def test_no_joined_lines(self) -> None:
        pages = [*_DOC.rglob('*.rst'), *tree.ROOT.glob('*.rst')]
        self.assertGreater(len(pages), 30)
        for page in pages:
            joined = _JOINED.search(page.read_text())
            self.assertIsNone(joined, f'{page}: {joined and joined[0]}')

    def test_no_page_installs_the_distribution_by_name(self) -> None:
        """The name is not registered: somebody else could publish it."""
        by_name = re.compile(r"pip install (?:-\S+ )*'?rbd-volume-options")
        for name in tree.files():
            if name.endswith(('.rst', '.sh', '.yaml', '.in')):
                text = (tree.ROOT / name).read_text()
                self.assertNotRegex(text, by_name, name)
