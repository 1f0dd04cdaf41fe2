# SPDX-License-Identifier: Apache-2.0

"""The names of functions on the page about the architecture exist."""

import ast
import re

from tests import tree
from tests.unit import base

_PAGE = (tree.ROOT / 'doc/source/contributor/architecture.rst').read_text()
# package.module:Class.method
_NAME_ON_PAGE = re.compile(r'``([a-z_]+(?:\.[a-z_]+)+:\w+(?:\.\w+)*)``')


def _defined(node: ast.AST) -> dict[str, ast.AST]:
    """Return what a module or a class defines, by name."""
    names: dict[str, ast.AST] = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            names[child.name] = child
        elif isinstance(child, ast.AnnAssign | ast.Assign):
            targets = getattr(child, 'targets', [getattr(child, 'target', 0)])
            names |= {x.id: child for x in targets if isinstance(x, ast.Name)}
    return names


def _exists(name: str) -> bool:
    module, _, path = name.partition(':')
    file = tree.ROOT / f'{module.replace(".", "/")}.py'
    if not file.is_file():
        return False
    node: ast.AST | None = ast.parse(file.read_text())
    for part in path.split('.'):
        node = _defined(node).get(part) if node else None
    return node is not None


class MapTestCase(base.TestCase):
    def test_each_name_exists(self) -> None:
        names = set(_NAME_ON_PAGE.findall(_PAGE))
        self.assertLess(40, len(names))
        self.assertEqual([], sorted(n for n in names if not _exists(n)))
