# SPDX-License-Identifier: Apache-2.0

"""Test the parts of Horizon that the plug-in relies on."""

import ast
from collections.abc import Iterator
import inspect
import pathlib
import pkgutil

from openstack_dashboard.api import cinder

import horizon_volume_opts
from tests import runs
from tests.unit import base
from tests.unit import contract
from tests.unit.horizon_volume_opts import horizon_contract

_ROOT = pathlib.Path(horizon_volume_opts.__file__).parent


#: What to do when Horizon moves a function to openstacksdk.
_MOVED = (
    'Horizon no longer uses cinderclient in {name}. Its errors are now those '
    'of the SDK: extend refusals.FAILURES and refusals.read, and check what '
    'the function returns: requests_to_cinder.py reads the Warning header. '
    'See doc/source/contributor/dashboard.rst, "Direction of Horizon".'
)


@runs.tags(runs.RELEASES)
class WrappedTest(base.TestCase):
    def test_functions_that_are_wrapped_use_cinderclient(self) -> None:
        ours = {
            name: inspect.unwrap(getattr(cinder, name))
            for name in (
                'volume_create',
                'volume_extend',
                'volume_manage',
                'volume_retype',
            )
        }
        self.assertIn('create', ours['volume_create'].__code__.co_names)
        # These are called as they are, and their refusals are read.
        for name in ('volume_set_metadata', 'volume_delete_metadata'):
            ours[name] = inspect.unwrap(getattr(cinder, name))
        for name, function in ours.items():
            self.assertIn(
                'cinderclient',
                ' '.join(function.__code__.co_names),
                _MOVED.format(name=name),
            )


@runs.tags(runs.RELEASES)
class ContractTest(base.TestCase):
    def test_installed_horizon_keeps_the_contract(self) -> None:
        self.assertEqual(
            [], contract.problems('horizon', horizon_contract.CLAUSES)
        )

    def test_installed_horizon_has_what_the_modules_name(self) -> None:
        missing = {
            (name, path.name)
            for path in _ROOT.rglob('*.py')
            for name in _named(ast.parse(path.read_text()))
            if not _is_there(name)
        }
        self.assertEqual(set(), missing)


def _is_there(name: str) -> bool:
    """Return whether a dotted name of a module or of its parts exists."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def _named(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names of Horizon that one of our modules uses."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                full = f'{node.module}.{each.name}'
                modules[each.asname or each.name] = full
        elif isinstance(node, ast.Import):
            for each in node.names:
                modules[each.asname or each.name] = each.name
    inner = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            first, *rest = _chain(node)
            module = modules.get(first, '')
            if module.split('.')[0] in ('horizon', 'openstack_dashboard'):
                yield '.'.join((module, *rest))


def _chain(node: ast.expr) -> list[str]:
    """Return the names in `a.b.c`; an empty name stands for `f(x)`."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else ['']
