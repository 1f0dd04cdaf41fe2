# SPDX-License-Identifier: Apache-2.0

"""Keeps a stock page working if code of this plug-in fails.

Other plug-ins and customization modules can change every part of Horizon, so
the plug-in cannot know what a page has when it is served. A failure is logged
with its cause.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import logging
from typing import Any

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def stock_page(part: str) -> Iterator[None]:
    """Log an exception of the body, and continue.

    :param part: the part of Horizon, for the log
    """
    try:
        yield
    except Exception:
        LOG.exception(
            'RBD volume options failed in %s; the page is shown without them',
            part,
        )


def otherwise(value: Any) -> Any:
    """Return a decorator that returns a value in place of an exception."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            result = value
            with stock_page(function.__qualname__):
                result = function(*args, **kwargs)
            return result

        return guarded

    return decorate
