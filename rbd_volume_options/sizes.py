# SPDX-License-Identifier: Apache-2.0

"""Sizes in bytes, with optional units.

Units are binary, as in the tools of Ceph: ``64K``, ``64KiB`` and ``65536``
are the same size. ``KB`` is refused because it is ambiguous: it can mean
1,000 or 1,024 bytes.
"""

import re

from rbd_volume_options import errors
from rbd_volume_options import phrases

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_UNITS = {'': 1, 'K': KIB, 'M': MIB, 'G': GIB}
# ASCII digits only: str.isdigit() and int() also accept those of other
# scripts. Nineteen digits are enough for 2^63, the maximum size in Ceph.
_SIZE = re.compile(r'([1-9][0-9]{0,18}|0)(?:([KMG])(?:iB)?|([kmg]))?')
_COUNT = re.compile(r'[1-9][0-9]{0,9}|0')

SIZE_FORMAT = phrases.Phrase(
    "a whole number of bytes, or with a unit, such as '64K' or '4M'"
)
COUNT_FORMAT = phrases.Phrase('a whole number of at least 1')


def parse_size(key: str, value: str | int) -> int:
    """Return a size in bytes.

    :raises OptionError: for a value that is not a size
    """
    match = _SIZE.fullmatch(_text(key, value, SIZE_FORMAT))
    if not match:
        raise errors.OptionError(
            key, value, phrases.Phrase('not a size'), SIZE_FORMAT
        )
    unit = (match[2] or match[3] or '').upper()
    return int(match[1]) * _UNITS[unit]


def parse_count(key: str, value: str | int) -> int:
    """Return a count.

    :raises OptionError: for a value that is not a whole number from 1
    """
    text = _text(key, value, COUNT_FORMAT)
    if not _COUNT.fullmatch(text) or int(text) < 1:
        raise errors.OptionError(
            key,
            value,
            phrases.Phrase('not a positive whole number'),
            COUNT_FORMAT,
        )
    return int(text)


def _text(key: str, value: str | int, allowed: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise errors.OptionError(
            key, value, phrases.Phrase('not a number'), allowed
        )
    return str(value)


def format_size(size: int) -> str:
    """Return a size as text: ``64 KiB``, ``4 MiB``, ``512 B``."""
    for name, unit in (('GiB', GIB), ('MiB', MIB), ('KiB', KIB)):
        if size >= unit and size % unit == 0:
            return f'{size // unit} {name}'
    return f'{size} B'
