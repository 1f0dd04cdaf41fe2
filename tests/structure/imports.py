# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The import rules of the packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import dataclasses
import sys

NEUTRAL = 'rbd_volume_options'

#: Each package with the top-level packages of its own host service.
HOSTS = {
    'cinder_rbd_ext': {'cinder'},
    'nova_rbd_cache': {'nova', 'os_vif'},
    'horizon_volume_opts': {
        'horizon',
        'openstack_auth',
        'openstack_dashboard',
        'django',
    },
    'glance_store_objmap': {'glance', 'glance_store'},
}

# The users of the neutral package are services, which log and translate in
# different ways, and programs, which do neither.
_NOT_NEUTRAL = {'logging', 'gettext'}
#: Tempest usually runs where no service is installed: the plug-in imports
#: neither a host service nor other parts of its package, and no other code
#: imports Tempest.
TEMPEST = 'cinder_rbd_ext.tempest'

# Parts of the repository that are not installed.
_NOT_INSTALLED = {'tests', 'sandbox_cloud', 'runner'}


@dataclasses.dataclass(frozen=True)
class Import:
    """An import: its full name and its line."""

    name: str
    line: int

    @property
    def top(self) -> str:
        """The top-level package."""
        return self.name.split('.')[0]


def imports(source: str) -> Iterator[Import]:
    """Yield the absolute imports of a module, by statement or by name.

    Imports in functions and for type checking count: a package that must not
    be imported at run time must not be used for types either.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays inside its own top-level package.
            if node.level == 0 and node.module:
                for alias in node.names:
                    yield Import(f'{node.module}.{alias.name}', node.lineno)
        elif isinstance(node, ast.Call) and (name := _called_for(node)):
            yield Import(name, node.lineno)


def _called_for(node: ast.Call) -> str | None:
    """Return the module in `import_module('a.b')` or `__import__('a')`."""
    function = node.func
    called = (
        function.attr
        if isinstance(function, ast.Attribute)
        else getattr(function, 'id', '')
    )
    if called not in ('import_module', 'import_object', '__import__'):
        return None
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None


def violations(package: str, source: str) -> list[str]:
    """Return the forbidden imports of a module, with the reasons."""
    return [
        f'line {found.line}: {package} imports {found.name}: {reason}'
        for found in imports(source)
        if (reason := _forbidden(package, found))
    ]


def _forbidden(package: str, found: Import) -> str | None:
    top = found.top
    ours = f'{found.name}.'.startswith(f'{TEMPEST}.')
    if package == TEMPEST:
        if ours:
            return None
        if top == TEMPEST.partition('.')[0]:
            return f'nothing of its package but {TEMPEST}'
    elif ours or top == 'tempest':
        return f'only {TEMPEST} needs Tempest'
    if top == package:
        return None
    if package == NEUTRAL:
        if top in _NOT_NEUTRAL:
            return 'it neither logs nor translates'
        if top not in sys.stdlib_module_names:
            return 'only the standard library'
        return None
    if top in HOSTS:
        return f'packages share {NEUTRAL} only'
    if top in _NOT_INSTALLED:
        return 'not installed with the packages'
    for owner, host in HOSTS.items():
        if top in host and owner != package:
            return f'the host service of {owner}'
    return None
