# SPDX-License-Identifier: Apache-2.0

"""The troubleshooting page quotes existing messages."""

import ast
from collections.abc import Iterator
import pathlib
import re

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = _ROOT / 'doc/source/admin/troubleshooting.rst'
_PACKAGES = (
    *('rbd_volume_options', 'cinder_rbd_ext', 'nova_rbd_cache'),
    *('horizon_volume_opts', 'glance_store_objmap', 'rbd_volume_tools'),
)
# A title that consists of a message only.
_TITLE = re.compile(r'^``([^`]+)``\n-+$', re.MULTILINE)
# Placeholders for values in messages.
_VALUE = re.compile(r'%\(\w+\)\w|%s|%d')


def _texts(path: pathlib.Path) -> Iterator[str]:
    """Yield each string of a module, with ``...`` for placeholders."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield ''.join(
                part.value
                if isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                else '...'
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield _VALUE.sub('...', node.value)


class TroubleshootingTest(base.TestCase):
    """Each message in a title of the page exists in the code."""

    def test_messages_are_in_the_code(self) -> None:
        messages = _TITLE.findall(_PAGE.read_text())
        self.assertTrue(messages)
        code = '\n'.join(
            text
            for package in _PACKAGES
            for path in sorted((_ROOT / package).rglob('*.py'))
            for text in _texts(path)
        )
        for message in messages:
            # The text between two values must exist in one piece.
            for piece in filter(None, message.split('...')):
                self.assertIn(piece.strip(' :,'), code, message)
