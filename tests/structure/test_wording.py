#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Phrases that must not return to the documentation, and what to write."""

from collections.abc import Iterator
from collections.abc import Mapping
import pathlib
import re

import ddt

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGES = _ROOT / 'doc/source'
#: Beside the pages.
_FILES = (
    *('README.rst', 'DESCRIPTION.rst', 'CONTRIBUTING.rst'),
    'devstack/README.rst',
)

#: A regular expression, without case, and what to write in its place.
PHRASES: Mapping[str, str] = {
    r"can(?:'t|not) be had": 'invalid, not allowed, not available',
    r'anew': 'again',
    r'all the same': 'without the requested mode',
    r'without a word': 'silently',
    r'whom? \w+ judges': 'the connections that are checked',
    r'who is asked': 'the connections that are checked',
    r'what it consists of': 'components',
    r'going back|to go back': 'reverting',
    r'volumes? of before': 'existing volumes',
    r'(?:writes|reads|requests|\d+[KMG]?) in a row': 'sequential',
    r'a mode that is none': 'an unknown mode',
    r'no mode there': 'unset the mode',
    r'knows? nothing of each other': 'are not coherent',
    r'beats?|beaten': 'overrides',
    r'wins? over': 'overrides',
    r'settled': 'fixed',
    r'sets the most': 'sets the maximum',
    r'words without a meaning': 'ignored',
    r'read by nobody': 'ignored',
    r'as ever': 'as before',
    r'(?:comes?|came|becomes) of': 'the result',
    r'counts? no more': 'is ignored',
    r'the suite away': 'remove the suite',
    r'stock drivers go on': 'the stock drivers keep working',
    r'makes? pages of': 'builds the documentation',
    r'mend(?:s|ed)?': 'correct',
    r'whence': 'source',
    r'tells? (?:how|of|the same|which)': 'describes, lists',
    r'(?:is|are|was) told': 'see ..., is described in',
    r'lies? (?:there|in|where)': 'is in',
    r'travel as one': 'belong together',
    r'takes? hold of': 'intercepts, changes',
    r'knows? nothing of': 'ignores',
    r'narrow waist': 'intercepted calls',
    r'lest': 'so that ... not',
    r'backends': 'back ends',
    r'(?<!-)plugins?(?!-)': 'plug-in',
    r"(?:is|are|do|does|did|ca|wo|was|were|has|have)n't": 'the full form',
}

_LITERAL = re.compile(r'``[^`]+``|`[^`]*<[^>]*>`_|:\w+:`[^`]+`')
# What a page quotes: commands, files, messages of the code.
_BLOCK = re.compile(r'( *)\.\. (?:code-block|image|include|literalinclude)::')


def _prose(text: str) -> str:
    """Return a page without literals and blocks, paragraph by paragraph."""
    kept = []
    block = -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= block:
            block = -1
        found = _BLOCK.match(line)
        if found:
            block = len(found[1])
        if block < 0:
            kept.append(line.strip())
    joined = re.sub(r'(?<!\n)\n(?!\n)', ' ', '\n'.join(kept))
    return _LITERAL.sub('X', joined)


def _found(text: str) -> Iterator[str]:
    """Yield each phrase of a page that must not be there."""
    prose = _prose(text)
    for phrase, instead in PHRASES.items():
        for match in re.finditer(rf'\b(?:{phrase})\b', prose, re.IGNORECASE):
            start = max(0, match.start() - 30)
            context = prose[start : match.end() + 30].strip()
            yield f'"{match[0]}" in "{context}"; write: {instead}'


def _pages() -> list[pathlib.Path]:
    return [
        *(_ROOT / name for name in _FILES),
        *sorted(_PAGES.rglob('*.rst')),
    ]


@ddt.ddt
class WordingTestCase(base.TestCase):
    def test_pages(self) -> None:
        pages = _pages()
        self.assertGreater(len(pages), len(_FILES))
        found = [
            f'{page.relative_to(_ROOT)}: {phrase}'
            for page in pages
            for phrase in _found(page.read_text())
        ]
        self.assertEqual([], found)

    @ddt.data(
        'A value that cannot\nbe had.',
        '* - one\n  - Start it anew.',
        '.. note::\n\n   Ignored without a word.',
    )
    def test_phrases_are_found(self, text: str) -> None:
        self.assertEqual(1, len(list(_found(text))), text)

    @ddt.data(
        '``conf_rbd_cache = ..., beats it``',
        '.. code-block:: text\n\n   allowed: no mode there\n\nText.',
        'See :doc:`backends`.',
    )
    def test_quotations_are_left_out(self, text: str) -> None:
        self.assertEqual([], list(_found(text)), text)
