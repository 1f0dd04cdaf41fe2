# SPDX-License-Identifier: Apache-2.0

"""Which functions can be emptied without a failed unit test.

    tools/test emptied -- FILE_OR_FOLDER...

Each function of a module is emptied in turn, and the unit tests of the module
run (:func:`runner.changed.unit_tests`), then those of the whole package if
none failed. The output names the functions that no test misses, and then the
tests that failed at none of the functions of their module: they prove nothing
about it, or only what does not happen.
"""

import ast
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import importlib
import importlib.machinery
import io
import itertools
import multiprocessing
import pathlib
import re
import sys
from typing import Any
import unittest
import warnings

from runner import changed

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SECONDS = 120
_IMPORT = 'the import'
# Imported once: each emptied function is tried in a process of its own.
_COMMON = ('ddt', 'hypothesis', 'openstack', 'oslo_config.cfg', 'tests.unit')

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Yield the functions of a module, with their names.

    Functions within functions, and those without a statement, are left out.
    """
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    groups = [('', tree.body), *((f'{x.name}.', x.body) for x in classes)]
    for prefix, body in groups:
        for node in body:
            if isinstance(node, _Function) and not _is_empty(node):
                yield f'{prefix}{node.name}', node


def _is_empty(node: _Function) -> bool:
    return all(
        isinstance(x, ast.Pass | ast.Raise)
        or (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))
        for x in node.body
    )


def _without(source: str, name: str) -> ast.Module:
    """Return a module in which a function does nothing and returns None."""
    tree = ast.parse(source)
    node = dict(functions(tree))[name]
    is_generator = any(
        isinstance(x, ast.Yield | ast.YieldFrom) for x in ast.walk(node)
    )
    node.body = ast.parse('return None').body
    if is_generator:
        node.body += ast.parse('yield').body
    return ast.fix_missing_locations(tree)


def _replace(path: pathlib.Path, tree: ast.Module) -> None:
    """Let the import of a module find another one."""
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def of_tree(self: Any, name: str) -> Any:
        if self.path == str(path):
            return compile(tree, str(path), 'exec')
        return get_code(self, name)

    loader.get_code = of_tree


def _try(path: pathlib.Path, name: str, tests: list[str], answer: Any) -> None:
    """Run tests with an emptied function; answer which ran and failed."""
    if name:
        _replace(path, _without(path.read_text(), name))
    package = path.relative_to(_ROOT).parts[0]
    for module in list(sys.modules):
        if module.partition('.')[0] == package:
            del sys.modules[module]
    warnings.simplefilter('ignore')
    result = unittest.TestResult()
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            suite = unittest.defaultTestLoader.loadTestsFromNames(tests)
        except Exception:
            answer.send(([], [_IMPORT]))
            return
        ids = [test.id() for test in _flat(suite)]
        suite.run(result)
    failed = [test.id() for test, _ in (*result.failures, *result.errors)]
    answer.send((list(map(_bare, ids)), list(map(_bare, failed))))


def _bare(ident: str) -> str:
    """Return the name of a test without the case of ``ddt``."""
    return re.sub(r'_\d+(_\w*)?$', '', ident)


def _flat(suite: Any) -> Iterator[Any]:
    if isinstance(suite, unittest.TestSuite):
        yield from itertools.chain(*map(_flat, suite))
    else:
        yield suite


def _outcome(
    path: pathlib.Path, name: str, tests: list[str]
) -> tuple[list[str], list[str]]:
    """Return the tests that ran, and those that failed."""
    context = multiprocessing.get_context('fork')
    ours, theirs = context.Pipe()
    child = context.Process(target=_try, args=(path, name, tests, theirs))
    child.start()
    theirs.close()
    try:
        if ours.poll(_SECONDS):
            answer: tuple[list[str], list[str]] = ours.recv()
            return answer
    except EOFError:
        pass
    finally:
        child.kill()
        child.join()
    return [], ['it did not end']


def _as_modules(files: Iterable[str]) -> list[str]:
    return [x[: -len('.py')].replace('/', '.') for x in files]


def _of_package(path: pathlib.Path) -> list[str]:
    """Return all unit tests of the package of a module."""
    folder = _ROOT / 'tests/unit' / path.relative_to(_ROOT).parts[0]
    found = sorted(folder.rglob('test_*.py'))
    return _as_modules(str(x.relative_to(_ROOT)) for x in found)


def main(names: list[str]) -> None:
    """Try all modules below files or folders."""
    for name in _COMMON:
        importlib.import_module(name)
    paths = [_ROOT / name for name in names]
    modules = [y for x in paths for y in sorted(x.rglob('*.py')) or [x]]
    count, elsewhere, missed, useless = 0, 0, 0, []
    for path in modules:
        name = str(path.relative_to(_ROOT))
        tests = _as_modules(changed.unit_tests([name], _ROOT))
        found = dict(functions(ast.parse(path.read_text())))
        if not tests or not found:
            continue
        ids, failed = _outcome(path, '', tests)
        if failed:
            sys.exit(f'failed without any change: {failed}')
        silent = set(ids)
        for function, node in found.items():
            count += 1
            _, failed = _outcome(path, function, tests)
            silent -= set(failed)
            if failed:
                continue
            if _outcome(path, function, _of_package(path))[1]:
                elsewhere += 1
            else:
                missed += 1
                print(f'{name}:{node.lineno}: {function}', flush=True)
        useless += sorted(silent)
    print('\n'.join(f'failed at none: {test}' for test in useless))
    print(
        f'{count} functions emptied: {count - elsewhere - missed} fail a test '
        f'of their module, {elsewhere} another one of the package, '
        f'{missed} none'
    )


if __name__ == '__main__':
    main(sys.argv[1:])
