# SPDX-License-Identifier: Apache-2.0

"""Packages follow the import rules of pyproject.toml."""

import ast
import os
import subprocess
import sys

from tests import tree
from tests.unit import base

_NEUTRAL = 'rbd_volume_options'
_NOT_NEUTRAL = {'logging', 'gettext'}


class ImportsTestCase(base.TestCase):
    def test_import_linter_keeps_all_contracts(self) -> None:
        program = 'from importlinter.cli import lint_imports_command as run'
        done = subprocess.run(
            [sys.executable, '-c', f'{program}; run()', '--no-cache'],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(tree.ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)

    def test_rules_need_only_the_standard_library(self) -> None:
        """import-linter cannot forbid every library that exists."""
        allowed = (sys.stdlib_module_names - _NOT_NEUTRAL) | {_NEUTRAL}
        for name in tree.files():
            if not name.startswith(f'{_NEUTRAL}/') or name[-3:] != '.py':
                continue
            for node in ast.walk(ast.parse((tree.ROOT / name).read_text())):
                modules = []
                if isinstance(node, ast.Import):
                    modules = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    modules = [node.module or _NEUTRAL]
                tops = {module.partition('.')[0] for module in modules}
                self.assertEqual(set(), tops - allowed, name)
