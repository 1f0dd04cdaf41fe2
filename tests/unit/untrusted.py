# SPDX-License-Identifier: Apache-2.0

"""Values that somebody else may send, for tests of parsers with hypothesis.

By default, each test draws a few values, which are always the same.
``RBD_TEST_CASES`` sets another number, and draws other values in each run,
which requires ``OS_TEST_TIMEOUT=0``. A failure shows the smallest value that
fails. Add it as an example to the test.
"""

from collections.abc import Callable
import os
import time
from typing import Any

import hypothesis
from hypothesis import strategies

from rbd_volume_options import registry
from tests.unit import base

_CASES = int(os.environ.get('RBD_TEST_CASES') or 0)

hypothesis.settings.register_profile(
    'tests',
    max_examples=_CASES or 20,
    derandomize=not _CASES,
    database=None,
    # The machine may be busy. `assertQuick` limits the time of a processor.
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile('tests')
#: For tests whose cases take long.
FEWER = hypothesis.settings(max_examples=min(_CASES or 20, 1000))

# Parts of values and what terminals, logs, HTML, XML, shells, spreadsheets,
# SQL, paths and number parsers treat in a special way.
_PARTS = (
    *('4', '64', '0', '1', 'K', 'M', 'iB', '-', 'e', '.', ',', ' ', '='),
    *('true', 'none', 'layering', 'object-map', 'rbd:', '<is> ', 'layout'),
    *('\n', '\r', '\t', '\0', '\x1b[2J', '\x9b', '\x85', '\u2028', '\u202e'),
    *('\u0664', '\u00b2', '\uff14', '\u212a', '\ud800', '\U0010ffff'),
    *('{}', '%s', "'", '"', '\\', '`', '$(reboot)', '; rm -rf /', '|', '&'),
    *('<script>', '</td>', ']]>', '&lt;', '=cmd', '+', '@', '../', '/', '#'),
    *('null', 'NaN', 'Infinity', '1e999', '[', ']', '{', '}', ':', '<<'),
    *('2026-11-27', 'T12:00:00', '+00:00', 'Z', '9' * 40),
)
#: Texts of any characters, or of parts that parsers know.
TEXTS = strategies.text(max_size=100) | strategies.lists(
    strategies.sampled_from((*_PARTS, *registry.OPTIONS)), max_size=8
).map(''.join)
#: Texts with what YAML treats in a special way.
YAML = strategies.lists(
    strategies.sampled_from(
        (
            *('!!int ', '!!float ', '!!bool ', '!!timestamp ', '!!binary '),
            *('!!omap ', '!!pairs ', '!!set ', '&a ', '*a', '<<: '),
            *('- ', ': '),
            *('? ', '|', '>', '%', '---', '~', '2026-', '13-', '99 25:61:61'),
            *('\n', '  ', '{', '}', '[', ']', ',', '"', '\\x', '\\ud800', '='),
        )
    )
    | TEXTS,
    max_size=8,
).map(''.join)
BYTES = strategies.binary(max_size=100) | TEXTS.map(
    lambda text: text.encode(errors='replace')
)
_SCALARS = (
    *(strategies.none(), strategies.booleans(), strategies.floats()),
    *(strategies.integers(-(2**70), 2**70), TEXTS),
)
#: What JSON and YAML can contain.
DATA: strategies.SearchStrategy[Any] = strategies.recursive(
    strategies.one_of(_SCALARS),
    lambda inner: (
        strategies.lists(inner, max_size=4)
        | strategies.dictionaries(TEXTS, inner, max_size=4)
    ),
    max_leaves=8,
)
#: Long inputs for which a parser must not take a time that grows with the
#: square of the length.
LONG = tuple(
    part * (200_000 // len(part))
    for part in (
        *('a', '0', '1', ' ', ',', '[', '{', '"', '-', '=', '\n', '\t', ':'),
        *('rbd:', 'layering,', '<is> ', '<', '&', 'e\u0301', "'", 'a,', '1:'),
        *('volume-', '{"a":', 'Task ', '1% ', '[v2:', '00000000-'),
    )
)
_SECONDS = 5.0


@strategies.composite
def damaged(draw: Callable[..., Any], whole: bytes) -> bytes:
    """Draw content in which a part was replaced, added or removed."""
    places = strategies.integers(0, len(whole))
    start, end = sorted((draw(places), draw(places)))
    inserted: bytes = draw(strategies.binary(max_size=8))
    return whole[:start] + inserted + whole[end:]


@strategies.composite
def altered(draw: Callable[..., Any], document: Any) -> Any:
    """Draw a JSON document in which one value is another or is missing."""
    if isinstance(document, dict) and document:
        name = draw(strategies.sampled_from(sorted(document)))
        rest = {k: v for k, v in document.items() if k != name}
        if draw(strategies.booleans()):
            return rest | {name: draw(altered(document[name]))}
        return rest
    if isinstance(document, list) and document:
        place = draw(strategies.integers(0, len(document) - 1))
        inner = draw(altered(document[place]))
        return [*document[:place], inner, *document[place + 1 :]]
    return draw(DATA)


class TestCase(base.TestCase):
    """A test of what reads values from others."""

    def assertQuick(self, parse: Callable[[str], object]) -> None:
        """Check that long inputs are refused, or read, in a short time."""
        for text in LONG:
            start = time.thread_time()
            parse(text)
            passed = time.thread_time() - start
            self.assertLess(passed, _SECONDS, text[:20])
