# SPDX-License-Identifier: Apache-2.0

"""Recognizes other spellings of the keys, which a database may equate.

Names are normalized with NFKC and case folding.
"""

import unicodedata

from rbd_volume_options import keys

# Letters without a decomposition that a collation compares as a plain letter:
# sharp s and dotless i in utf8mb3_general_ci, and d, b, o and l with a stroke
# in UCA collations. Python's case folding turns a sharp s into two letters.
_LIKE_PLAIN = {
    ord(letter): plain
    for letters, plain in (
        ('\u00df\u1e9e', 's'),
        ('\u0131', 'i'),
        ('\u0110\u0111', 'd'),
        ('\u0180\u0243', 'b'),
        ('\u00d8\u00f8', 'o'),
        ('\u0141\u0142', 'l'),
    )
    for letter in letters
}


def normal(name: str) -> str:
    """Return a name as databases compare it: without case and accents.

    MariaDB and MySQL look up the row of a key with a collation that ignores
    case, accents and trailing spaces; newer collations also ignore
    non-printing characters. NFKC, case folding and stripping make two names
    equal if any of these collations treats them as equal.

    A name of more than :data:`.keys.MAX_NAME` characters is returned
    unchanged: no database has it. The time of a normalization can grow with
    the square of the length, and requests are checked here before Cinder's
    schemas.
    """
    if len(name) > keys.MAX_NAME:
        return name
    composed = unicodedata.normalize('NFKC', name).translate(_LIKE_PLAIN)
    folded = unicodedata.normalize('NFKD', composed.casefold())
    printed = (c for c in folded if unicodedata.category(c)[0] not in 'CM')
    return ''.join(printed).strip()


def is_ours(name: str) -> bool:
    """Return whether a name has the prefix of our keys, in any spelling.

    A name that is too long for Cinder is never ours: Cinder refuses it.
    """
    return len(name) <= keys.MAX_NAME and normal(name).startswith(keys.PREFIX)


def is_misspelled(name: str) -> bool:
    """Return whether a key is ours but is not spelled exactly.

    A database may treat it as the key that it resembles.
    """
    return is_ours(name) and normal(name) != name
