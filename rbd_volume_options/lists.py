# SPDX-License-Identifier: Apache-2.0

"""Comma-separated lists in options and extra specs."""


def split(value: str) -> list[str]:
    """Return the items of a list, without spaces around them.

    oslo.config splits its lists in the same way. Empty items are kept, so
    that ``a,,b`` is an error.
    """
    return [word.strip(' \t') for word in value.split(',')]
