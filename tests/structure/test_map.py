# SPDX-License-Identifier: Apache-2.0

"""Test that the code map in the documentation matches the code."""

import ast
from collections.abc import Iterator
import pathlib
import re

import ddt

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / 'doc/source/contributor/architecture.rst').read_text()
_PICTURE = _ROOT / 'doc/source/_static/map.svg'

# package.module:Class.method
_NAME = r'[a-z_]+(?:\.[a-z_]+)+:\w+(?:\.\w+)*'
_NAME_ON_PAGE = re.compile(f'``({_NAME})``')
_WAYS = (
    'From ``rbd:stripe_unit`` to librbd',
    "From ``rbd:cache_mode`` to the guest's XML",
)
# A caller that is not part of this suite.
_OTHER_PROGRAM = re.compile(r'called by (Cinder\'s|os-brick|Nova)\b')
_QUESTIONS = 'Where is the rule that ...'

_ITEM = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign


def _rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its heading."""
    parts = re.split(r'^(\S.*)\n[=-]+\n', _PAGE, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    rows = re.split(r'^   \* - ', sections[title], flags=re.MULTILINE)
    return [
        [
            ' '.join(cell.split())
            for cell in re.split(r'^     - ', row, flags=re.MULTILINE)
        ]
        for row in rows[2:]
    ]


def _steps(title: str) -> list[tuple[str, list[str]]]:
    """Return the functions of a code path, each with its callers."""
    named = [_NAME_ON_PAGE.findall(where) for _, where in _rows(title)]
    return [(step, callers) for step, *callers in named]


def _items(node: ast.AST) -> Iterator[tuple[str, _ITEM]]:
    """Yield the names that a module or a class defines, with their nodes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child.name, child
        elif isinstance(child, ast.AnnAssign):
            if isinstance(child.target, ast.Name):
                yield child.target.id, child
        elif isinstance(child, ast.Assign):
            for target in child.targets:
                if isinstance(target, ast.Name):
                    yield target.id, child


def _find(name: str) -> ast.AST | None:
    """Return the node of a name; None if there is none."""
    module, _, path = name.partition(':')
    file = _ROOT / f'{module.replace(".", "/")}.py'
    if not file.is_file():
        return None
    node: ast.AST = ast.parse(file.read_text())
    for part in path.split('.'):
        item = dict(_items(node)).get(part)
        if item is None:
            return None
        node = item
    return node


def _imported(module: ast.AST) -> dict[str, str]:
    """Return the modules that a module imports, by their names there."""
    return {
        each.asname or each.name: f'{node.module}.{each.name}'
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }


def _used(name: str) -> tuple[set[str], set[str]]:
    """Return what a function uses.

    :returns: names of modules' items, such as `a.b:C.d`; names of attributes
        of other objects, whose class only a run knows
    """
    module, _, path = name.partition(':')
    node = _find(name)
    file = _ROOT / f'{module.replace(".", "/")}.py'
    if node is None:
        return set(), set()
    imported = _imported(ast.parse(file.read_text()))
    items: set[str] = set()
    attributes: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            items.add(f'{module}:{child.id}')
        elif isinstance(child, ast.Attribute):
            first, _, rest = ast.unparse(child).partition('.')
            if first in imported:
                items.add(f'{imported[first]}:{rest}')
            elif first == 'self':
                items.add(f'{module}:{path.partition(".")[0]}.{rest}')
            attributes.add(child.attr)
    return items, attributes


def _calls(caller: str, step: str) -> bool:
    """Return whether a function calls another one, or passes it on.

    A method is called on an object. The module of the caller must be that of
    the method, or import it.
    """
    items, attributes = _used(caller)
    if step.removesuffix('.__call__') in items:
        return True
    module, _, path = step.partition(':')
    here = caller.partition(':')[0]
    file = _ROOT / f'{here.replace(".", "/")}.py'
    known = {here, *_imported(ast.parse(file.read_text())).values()}
    return (
        '.' in path
        and path.rpartition('.')[2] in attributes
        and module in known
    )


@ddt.ddt
class MapTestCase(base.TestCase):
    def test_each_name_exists(self) -> None:
        names = set(_NAME_ON_PAGE.findall(_PAGE))
        self.assertLess(40, len(names))
        self.assertEqual([], sorted(n for n in names if _find(n) is None))

    def test_each_caller_calls(self) -> None:
        wrong = [
            f'{caller} does not call {step}'
            for title in _WAYS
            for step, callers in _steps(title)
            for caller in callers
            if not _calls(caller, step)
        ]
        self.assertEqual([], wrong)

    def test_each_step_follows_its_callers(self) -> None:
        """A caller is an earlier step, or another program."""
        earlier: set[str] = set()
        wrong = []
        for title in _WAYS:
            for _what, where in _rows(title):
                step, *callers = _NAME_ON_PAGE.findall(where)
                if callers:
                    wrong += [
                        f'{each}, which calls {step}, is no earlier step'
                        for each in callers
                        if each not in earlier
                    ]
                elif not _OTHER_PROGRAM.search(where):
                    wrong.append(f'{step} has no caller')
                earlier.add(step)
        self.assertEqual([], wrong)

    @ddt.data(
        ('rbd_volume_options.plan:plan_image', 'plan:check_layout', True),
        # It uses `check` of another module.
        ('rbd_volume_options.agreement:agree', 'limits:check', False),
        ('rbd_volume_options.plan:plan_image', 'layout:check_unit', False),
        ('rbd_volume_options.plan:plan_image', 'limits:check_layout', False),
    )
    @ddt.unpack
    def test_calls_are_recognised(
        self, caller: str, step: str, expected: bool
    ) -> None:
        calls = _calls(caller, f'rbd_volume_options.{step}')
        self.assertIs(expected, calls)

    def test_picture_shows_the_steps(self) -> None:
        steps = [step for title in _WAYS for step, _ in _steps(title)]
        self.assertLess(30, len(steps))
        shown = re.findall(rf'>({_NAME})</text>', _PICTURE.read_text())
        self.assertEqual(steps, shown)

    def test_each_question_has_an_answer(self) -> None:
        rows = _rows(_QUESTIONS)
        self.assertLessEqual(20, len({question for question, _ in rows}))
        self.assertEqual(
            [], [row for row in rows if not _NAME_ON_PAGE.search(row[1])]
        )

    @ddt.data(
        ('rbd_volume_options.layout:check_unit', True),
        ('rbd_volume_options.limits:Limits.max_objects', True),
        ('rbd_volume_options.registry:OPTIONS', True),
        ('rbd_volume_options.layout:check_units', False),
        ('rbd_volume_options.limit:check_unit', False),
        ('rbd_volume_options.limits:Limits.check_unit', False),
    )
    @ddt.unpack
    def test_the_rule_itself(self, name: str, exists: bool) -> None:
        self.assertIs(exists, _find(name) is not None)
