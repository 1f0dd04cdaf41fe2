# SPDX-License-Identifier: Apache-2.0

"""Names that processes exchange are defined in one place."""

import ast
from collections.abc import Iterator
import pathlib
import re

from rbd_volume_options import registry
from rbd_volume_options import wire
from tests import tree
from tests.unit import base

#: Modules that define the names.
_DEFINED = (
    'rbd_volume_options/keys.py',
    'rbd_volume_options/wire.py',
)

# Tempest tests in the wheel use literals, as other tests do.
_SHIPPED_TESTS = 'rbd_tempest_plugin/tests/'

#: Literals that equal a name but have another meaning.
_OTHER_MEANING = {
    ('nova_rbd_cache/comparison.py', 'detect_zeroes'): "libvirt's attribute",
    ('nova_rbd_cache/comparison.py', 'discard'): "libvirt's attribute",
    (
        'rbd_volume_options/families/discard.py',
        'detect_zeroes',
    ): 'name of an attribute',
    (
        'rbd_volume_options/families/discard.py',
        'discard_granularity',
    ): 'name of an attribute',
    ('nova_rbd_cache/disk.py', 'detect_zeroes'): "libvirt's attribute",
    ('nova_rbd_cache/disk.py', 'discard_granularity'): "libvirt's attribute",
    ('nova_rbd_cache/guests.py', 'discard_granularity'): "libvirt's attribute",
    ('nova_rbd_cache/tuning.py', 'discard_granularity'): "libvirt's attribute",
    ('rbd_volume_tools/audit/images.py', 'name'): "librbd's item",
    ('rbd_volume_tools/audit/images.py', 'pool'): "librbd's item",
    ('rbd_volume_tools/audit/images.py', 'image'): "librbd's item",
    (
        'rbd_volume_tools/client/volume_rbd.py',
        'reason',
    ): 'field of a volume type',
    (
        'rbd_volume_tools/command_line/ceph_options.py',
        'rbd_default_features',
    ): 'option of Ceph',
    ('rbd_volume_tools/bench/plan.py', 'cache_mode'): 'axis of a plan',
    ('rbd_volume_tools/client/attach.py', 'cache_mode'): 'column of a table',
    ('rbd_tempest_plugin/config.py', 'cache_mode'): "Tempest's option",
    (
        'rbd_tempest_plugin/config.py',
        'rbd_volume_options',
    ): "Tempest's option and group",
    (
        'horizon_volume_opts/enabled/_3110_rbd_volume_options.py',
        'rbd_volume_options',
    ): 'name of a feature of the dashboard',
    (
        'horizon_volume_opts/volumes/details.py',
        'rbd_volume_options',
    ): 'slug of a tab',
}

# Words, phrases and prefixes, which only match as a whole.
_WHOLE_ONLY = re.compile(r'[a-z]+|.* .*|rbd_volume_options', re.IGNORECASE)

# Other strings that can contain a name: paths, prefixes, patterns.
_NO_PROSE = re.compile(r'\S+')

_SCRIPT_LITERAL = re.compile(r"""'([^'\n]*)'|"([^"\n]*)\"""")

#: Keys, attributes and the origins of defaults.
_SCRIPT_NAME = re.compile(
    r'rbd:.*|os-rbd-volume-options.*|(?:volume|source) \w+|\w+ configuration'
    r'|Glance image'
)


#: Prefixes of names in wire.py whose values are ordinary words, such as items
#: of an attribute. Only modules that use the group must not repeat them.
_GROUPS = (
    'ATTACH_REFUSED',
    'AUDIT',
    'CONVERSION',
    'MARKER',
    'REASON',
)


def _wire_names(words: bool, group: str = '') -> set[str]:
    """Return the values of names.

    :param words: whether to return those of :data:`_GROUPS` or the others
    :param group: the only group of interest
    """
    starts = tuple(f'{each}_' for each in _GROUPS)
    names: set[str] = set()
    for name, value in vars(wire).items():
        if name.isupper() and words == name.startswith(starts):
            if isinstance(value, int) or not name.startswith(group):
                continue
            names.update((value,) if isinstance(value, str) else value)
    return names


_NAMES = _wire_names(words=False) | set(registry.OPTIONS)
_PARTS = re.compile(
    '|'.join(
        rf'(?<![\w-]){re.escape(name)}(?![\w-])'
        for name in sorted(_NAMES, key=len, reverse=True)
        if not _WHOLE_ONLY.fullmatch(name)
    )
)


def _docstrings(module: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(module):
        body = getattr(node, 'body', None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value


def _words(source: str) -> set[str]:
    """Return the words that a module must not repeat."""
    return {
        word
        for group in _GROUPS
        if re.search(rf'\bwire\.(ATTRIBUTE_)?{group}(_|\b)', source)
        for word in _wire_names(words=True, group=f'{group}_')
    }


def _repeated(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each literal that repeats a name."""
    module = ast.parse(source)
    words = _words(source)
    excluded = {id(node) for node in _docstrings(module)}
    for node in ast.walk(module):
        if not isinstance(node, ast.Constant) or id(node) in excluded:
            continue
        text = node.value
        if not isinstance(text, str):
            continue
        if text in _NAMES or text in words:
            yield node.lineno, text
        elif wire.REFUSED in text:
            yield node.lineno, wire.REFUSED
        elif _NO_PROSE.fullmatch(text) and (part := _PARTS.search(text)):
            yield node.lineno, part[0]


def _script_names(source: str) -> Iterator[str]:
    """Yield the suite's names in the strings of a script or template."""
    for match in _SCRIPT_LITERAL.finditer(source):
        text = match[1] or match[2] or ''
        if _SCRIPT_NAME.fullmatch(text):
            yield text


class PythonTestCase(base.TestCase):
    def _found(self) -> Iterator[tuple[str, int, str]]:
        for name in tree.files():
            if (
                name.startswith(tuple(f'{each}/' for each in tree.PACKAGES))
                and name.endswith('.py')
                and name not in _DEFINED
                and not name.startswith(_SHIPPED_TESTS)
            ):
                source = (tree.ROOT / name).read_text()
                for line, text in _repeated(source):
                    yield name, line, text

    def test_no_module_repeats_a_name(self) -> None:
        repeated = [
            f'{name}:{line}: {text}'
            for name, line, text in self._found()
            if (name, text) not in _OTHER_MEANING
        ]
        self.assertEqual([], repeated)

    def test_each_exception_is_needed(self) -> None:
        repeated = {(name, text) for name, _line, text in self._found()}
        self.assertEqual(set(), set(_OTHER_MEANING) - repeated)


class ScriptsTestCase(base.TestCase):
    """Scripts know no key; the server has all rules and texts."""

    def _files(self) -> list[pathlib.Path]:
        return [
            tree.ROOT / name
            for name in tree.files()
            if name.startswith('horizon_volume_opts/')
            and name.endswith(('.js', '.html'))
        ]

    def test_scripts_name_no_key(self) -> None:
        paths = {
            text: path.name
            for path in self._files()
            for text in _script_names(path.read_text())
        }
        self.assertEqual({}, paths)

    def test_routes_exist(self) -> None:
        routes = {
            text
            for path in self._files()
            for text in re.findall(r"'/api/(\w*rbd[^']*)'", path.read_text())
        }
        self.assertNotEqual(set(), routes)
        for each in routes:
            self.assertTrue(each.startswith(wire.DASHBOARD_ROUTE), each)
