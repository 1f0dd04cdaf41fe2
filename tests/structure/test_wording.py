# SPDX-License-Identifier: Apache-2.0

"""Phrases that must not return to pages and messages, with replacements."""

import ast
from collections.abc import Iterator
from collections.abc import Mapping
import pathlib
import re
import typing

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGES = _ROOT / 'doc/source'
#: Files that are checked in addition to the pages.
_FILES = (
    *('README.rst', 'DESCRIPTION.rst', 'CONTRIBUTING.rst'),
    'devstack/README.rst',
)

#: Phrases that are correct in names of options and modules.
_NAMES = ('backends', r'(?<!-)plugins?(?!-)')

#: Regular expressions, case-insensitive, and their replacements.
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

#: Phrases for messages, help texts and labels in code.
IN_CODE: Mapping[str, str] = {
    **{k: v for k, v in PHRASES.items() if k not in _NAMES},
    r'ask(?:s|ed)? for': 'requests, requested',
    r'ask(?:s|ed)? for none': 'does not request',
    r'tells?|told': 'shows, reports, is configured',
    r'none at all': 'no ...',
    r'bytes in a row': 'contiguous bytes',
    r'(?<!there )(?:is|are) no (?!longer|more)\w+': 'is not a ...',
    r'nothing nearer': 'the metadata and the type override it',
    r'as (?:\w+ ){1,3}has it': 'default of ..., same as ...',
    r'takes? [\w -]+ away': 'removes',
    r'puts? back|put back': 'restores',
    r'(?:must|may) hold': 'must include',
    r'can not': 'cannot',
    r'Count On': 'Continue Counting',
    r'what \w+ settles?': 'fixed, set',
    r'by now': 'no longer, already',
    r'given (?:together with|without)': 'requires, set without',
    r'go(?:es)? together': 'must be set together',
    r'for tenants to': 'tenants may not',
    r'an? \w+ of (?:its|their) own': 'requested, configured',
    r'half made': 'incomplete',
    r'(?:could|can) not be made': 'could not create',
    r'without a check': 'is not checked',
    r'has room for': 'has free space',
}

_CODE = (
    *('cinder_rbd_ext', 'glance_store_objmap', 'horizon_volume_opts'),
    *('nova_rbd_cache', 'rbd_volume_options', 'tools'),
    'rbd_volume_tools',
)
_TAG = re.compile(r'{#.*?#}|{%.*?%}|<[^>]*>', re.DOTALL)

_LITERAL = re.compile(r'``[^`]+``|`[^`]*<[^>]*>`_|:\w+:`[^`]+`')
# Blocks with commands, files or messages of the code.
_BLOCK = re.compile(r'( *)\.\. (?:code-block|image|include|literalinclude)::')


def _prose(text: str) -> str:
    """Return a page's paragraphs without literals and literal blocks."""
    kept = []
    block = -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= block:
            block = -1
        directive = _BLOCK.match(line)
        if directive:
            block = len(directive[1])
        if block < 0:
            kept.append(line.strip())
    joined = re.sub(r'(?<!\n)\n(?!\n)', ' ', '\n'.join(kept))
    return _LITERAL.sub('X', joined)


def _found(prose: str, phrases: Mapping[str, str] = PHRASES) -> Iterator[str]:
    """Yield each phrase that a text must not contain."""
    for phrase, instead in phrases.items():
        for match in re.finditer(rf'\b(?:{phrase})\b', prose, re.IGNORECASE):
            start = max(0, match.start() - 30)
            context = prose[start : match.end() + 30].strip()
            yield f'"{match[0]}" in "{context}"; write: {instead}'


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef
        ) and ast.get_docstring(node):
            expression = node.body[0]
            yield typing.cast('ast.Expr', expression).value


def _strings(source: str) -> str:
    """Return the strings of a Python module that are not docstrings.

    Each string becomes a paragraph, and each value in an f-string an X.
    """
    tree = ast.parse(source)
    inside: set[ast.AST] = set(_docstrings(tree))
    texts = []
    for node in ast.walk(tree):
        if node in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            texts.append(
                ''.join(
                    str(x.value) if isinstance(x, ast.Constant) else 'X'
                    for x in node.values
                )
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return '\n\n'.join(x for x in texts if ' ' in x)


def _texts(path: pathlib.Path) -> str:
    """Return the texts in a code file that users read."""
    source = path.read_text()
    if path.suffix == '.py':
        return _strings(source)
    if path.suffix == '.html':
        quoted = re.findall(r'{% trans "(.*?)" %}', source)
        source = ' '.join(_TAG.sub('\n\n', source).split(' '))
        return '\n\n'.join([*quoted, re.sub(r'[^\S\n]+', ' ', source)])
    calls = re.findall(r'gettext\(([^()]*(?:\([^()]*\)[^()]*)*)\)', source)
    return '\n\n'.join(re.sub(r"'\s*\+\s*'", '', call) for call in calls)


def _modules() -> list[pathlib.Path]:
    suffixes = ('.py', '.js', '.html')
    return sorted(
        path
        for folder in _CODE
        for path in (_ROOT / folder).rglob('*')
        if path.suffix in suffixes
    )


def _pages() -> list[pathlib.Path]:
    return [
        *(_ROOT / name for name in _FILES),
        *sorted(_PAGES.rglob('*.rst')),
    ]


class WordingTestCase(base.TestCase):
    def test_pages_have_no_phrase_of_the_list(self) -> None:
        pages = _pages()
        self.assertGreater(len(pages), len(_FILES))
        lines = [
            f'{page.relative_to(_ROOT)}: {phrase}'
            for page in pages
            for phrase in _found(_prose(page.read_text()))
        ]
        self.assertEqual([], lines)

    def test_code_has_no_phrase_of_the_list(self) -> None:
        modules = _modules()
        self.assertLess(200, len(modules))
        lines = [
            f'{module.relative_to(_ROOT)}: {phrase}'
            for module in modules
            for phrase in _found(_texts(module), IN_CODE)
        ]
        self.assertEqual([], lines)
