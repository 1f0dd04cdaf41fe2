# SPDX-License-Identifier: Apache-2.0

"""Untrusted text, escaped for a terminal.

Names, metadata and messages may contain escape sequences, which change the
output of the terminal, and characters that reorder a line.
"""

from typing import Any
import unicodedata

# Control, format (including bidirectional overrides), surrogate, private and
# unassigned characters, and line and paragraph separators.
_ESCAPED = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})

#: With what a formula in a spreadsheet can begin: some spreadsheets take
#: characters of full width for the same.
FORMULA = (*'=+-@\t\r', *'\uff1d\uff0b\uff0d\uff20')


def text(untrusted: str) -> str:
    """Return a text with its unprintable characters escaped."""
    return ''.join(
        ascii(c)[1:-1] if unicodedata.category(c) in _ESCAPED else c
        for c in untrusted
    )


def cell(untrusted: Any) -> Any:
    """Return a value for CSV; spreadsheets take no text for a formula."""
    if isinstance(untrusted, str) and untrusted.startswith(FORMULA):
        return f"'{untrusted}"
    return untrusted


def value(untrusted: Any) -> Any:
    """Return a value with escaped text; other types are unchanged."""
    if isinstance(untrusted, str):
        return text(untrusted)
    if isinstance(untrusted, dict):
        return {value(k): value(v) for k, v in untrusted.items()}
    if isinstance(untrusted, list | tuple):
        return type(untrusted)(value(each) for each in untrusted)
    return untrusted
