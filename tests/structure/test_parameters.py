# SPDX-License-Identifier: Apache-2.0

"""Types of parameters: what a function requires of objects.

The classes of Cinder and Ceph are untyped. ``cinder_rbd_ext.protocols`` and
``rbd_volume_options.bindings`` describe them.
"""

import ast
from collections.abc import Iterator

from tests import tree
from tests.unit import base

#: The part of the parameters that may be of any type.
MOST = 0.08


def parameters(module: ast.AST) -> Iterator[ast.arg]:
    """Yield the parameters of all functions, without ``self`` and ``cls``."""
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            for parameter in ast.walk(function.args):
                if isinstance(parameter, ast.arg) and parameter.annotation:
                    yield parameter


class ParametersTestCase(base.TestCase):
    def test_few_parameters_of_the_driver_are_of_any_type(self) -> None:
        types = [
            ast.unparse(parameter.annotation)
            for name in tree.files()
            if name.startswith('cinder_rbd_ext/') and name.endswith('.py')
            for parameter in parameters(
                ast.parse((tree.ROOT / name).read_text())
            )
            if parameter.annotation
        ]
        self.assertGreater(len(types), 1000)
        self.assertLessEqual(types.count('Any') / len(types), MOST)
