# SPDX-License-Identifier: Apache-2.0

"""The English texts of the dashboard that a German page must not contain."""

import functools
import re

import catalogues

# Values, and tags of templates.
_VALUES = re.compile(
    r'%\(\w+\)[sd]|%[sdr]|</?\w+[^>]*>|\{\$.*?\$\}|\{\w*:?,?\}'
)
_SHORTEST = 4
# Words of texts that are not marked for translation; not parts of options of
# commands or of keys.
_ENGLISH = re.compile(
    r'(?<![-<\w:/.])(?:the|of|and|is|with|for|are|not|this|that)(?![-\w:/.])'
)


@functools.cache
def translations() -> dict[str, str]:
    """Return the translations of the dashboard's texts."""
    by_text: dict[str, str] = {}
    for domain in catalogues.DOMAINS:
        if domain.package == 'horizon_volume_opts':
            for path in domain.catalogues:
                for (_context, text), german in catalogues.strings(
                    catalogues.read(path)
                ).items():
                    # A plural is a tuple.
                    texts, germans = (
                        each if isinstance(each, tuple | list) else (each,)
                        for each in (text, german)
                    )
                    by_text.update(zip(texts, germans, strict=True))
    return by_text


@functools.cache
def _passages() -> tuple[str, ...]:
    """Return the passages of the English texts that no German one has."""
    known = ' '.join(_normal(each) for each in translations().values())
    passages = {
        passage
        for text in translations()
        for part in _VALUES.split(text)
        if len(passage := _normal(part).strip(' .,:;()\'"')) >= _SHORTEST
    }
    return tuple(sorted(each for each in passages if not _has(known, each)))


def _normal(text: str) -> str:
    return ' '.join(text.split())


def _has(text: str, passage: str) -> bool:
    return bool(re.search(rf'\b{re.escape(passage)}(?!\w)', text))


def english_in(text: str) -> list[str]:
    """Return the English passages in the text of a German page."""
    text = _normal(text)
    passages = [
        each for each in _passages() if each in text and _has(text, each)
    ]
    return [*passages, *_ENGLISH.findall(text)]
