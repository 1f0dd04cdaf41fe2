# SPDX-License-Identifier: Apache-2.0

"""Failures that the test finds."""

from __future__ import annotations


class Violation(Exception):
    """A state or response that is wrong for any request.

    :ivar kind: identifier, for the list of known violations
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f'{kind}: {text}')
        self.kind = kind
        self.text = text
