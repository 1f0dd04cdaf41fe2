# SPDX-License-Identifier: Apache-2.0

"""Reduce a failed sequence to the steps that cause the failure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar('T')


def reduced(
    steps: Sequence[T], fails: Callable[[Sequence[T]], bool]
) -> list[T]:
    """Return the steps without those that the failure does not need.

    Large pieces are tried first, since the duration of a try depends on the
    number of its steps.

    :param fails: runs some of the steps and returns whether they fail in the
        same way
    """
    left = list(steps)
    size = max(1, len(left) // 2)
    while True:
        # Start at the end, to remove the steps after the cause first.
        at = len(left)
        while at > 0:
            begin = max(0, at - size)
            fewer = left[:begin] + left[at:]
            if fewer and fails(fewer):
                left = fewer
            at = begin
        if size == 1:
            return left
        size //= 2
