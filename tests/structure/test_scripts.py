# SPDX-License-Identifier: Apache-2.0

"""Scripts know no key; the server has all rules and texts."""

from collections.abc import Iterator
import pathlib
import re

from tests import tree
from tests.unit import base

_SCRIPT_LITERAL = re.compile(r"""'([^'\n]*)'|"([^"\n]*)\"""")

#: Keys, attributes and the origins of defaults.
_SCRIPT_NAME = re.compile(
    r'rbd:.*|os-rbd-volume-options.*|(?:volume|source) \w+|\w+ configuration'
    r'|Glance image'
)


def _script_names(source: str) -> Iterator[str]:
    """Yield the suite's names in the strings of a script or template."""
    for match in _SCRIPT_LITERAL.finditer(source):
        text = match[1] or match[2] or ''
        if _SCRIPT_NAME.fullmatch(text):
            yield text


class ScriptsTestCase(base.TestCase):
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
            self.assertTrue(each.startswith('rbd_volume_options/'), each)
