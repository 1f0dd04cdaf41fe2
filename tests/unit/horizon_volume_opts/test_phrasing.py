# SPDX-License-Identifier: Apache-2.0

"""The texts of the rules, in the language of the user."""

import ast
from collections.abc import Iterator
import pathlib

from django.utils import translation

from horizon_volume_opts import phrasing
from rbd_volume_options import layout
from rbd_volume_options import phrases
from tests import tree
from tests.unit import base

_RULES = tree.ROOT / 'rbd_volume_options'


class InWordsTestCase(base.TestCase):
    def test_values_in_the_language_of_the_user(self) -> None:
        text = phrases.Phrase(
            'a volume of {size} ({image_layout}) has {count:,} objects',
            size='1 GiB',
            image_layout=layout.ImageLayout(4096),
            count=262144,
        )
        with translation.override('en'):
            shown = phrasing.in_words(text).replace('\xa0', ' ')
            self.assertEqual(str(text), shown)
        with translation.override('de'):
            self.assertEqual(
                'ein Datenträger mit 1 GiB (Objekte mit 4\xa0KiB) hat 262.144 '
                'Objekte',
                phrasing.in_words(text),
            )

    def test_phrase_in_a_phrase(self) -> None:
        inner = phrases.Phrase('out of range')
        text = phrases.Phrase('set without {key}', key=inner)
        with translation.override('de'):
            self.assertEqual(
                'ohne außerhalb des Bereichs gesetzt', phrasing.in_words(text)
            )

    def test_other_text_stays(self) -> None:
        with translation.override('de'):
            self.assertEqual('out of range', phrasing.in_words('out of range'))


class LayoutInWordsTestCase(base.TestCase):
    def test_layout_is_translated_to_german(self) -> None:
        with translation.override('de'):
            self.assertEqual(
                'Objekte mit 8\xa0MiB, 64\xa0KiB\xa0×\xa08',
                phrasing.layout_in_words(
                    layout.ImageLayout.from_numbers(1 << 23, 1 << 16, 8)
                ),
            )


class RulesTestCase(base.TestCase):
    """Each text of the rules can be translated."""

    def test_errors_have_no_text_of_their_own(self) -> None:
        for path in sorted(_RULES.glob('*.py')):
            # Only Cinder refuses attachments.
            if path.name != 'agreement.py':
                self.assertEqual([], list(_texts(path)))


def _calls(path: pathlib.Path, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            function = node.func
            called = getattr(function, 'attr', getattr(function, 'id', ''))
            if called == name:
                yield node


def _texts(path: pathlib.Path) -> Iterator[str]:
    """Yield plain sentences for the reason and for the allowed values."""
    for call in _calls(path, 'OptionError'):
        for argument in call.args[2:4]:
            text = ast.unparse(argument)
            if isinstance(argument, ast.JoinedStr) or (
                isinstance(argument, ast.Constant) and ' ' in text
            ):
                yield text
