# SPDX-License-Identifier: Apache-2.0

"""The log of failures that repeat until their cause is gone."""

from collections.abc import Mapping
import sys
import time
import traceback

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Seconds without a failure after which its traceback is logged again.
QUIET = 600.0


class Failures:
    """Failures of something that is tried again and again.

    While a cluster or a database refuses requests, each attempt fails at the
    same line. Only the first such failure is logged with its traceback.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], float] = {}

    def log(self, message: str, items: Mapping[str, object]) -> None:
        """Log the exception that is being handled.

        :param message: what failed, with placeholders
        :param items: the items of the placeholders
        """
        kind, error, trace = sys.exc_info()
        lines = [
            (frame.filename, frame.lineno)
            for frame in traceback.extract_tb(trace, limit=-1)
        ]
        cause = (message, kind, *lines)
        now = time.monotonic()
        last = self._seen.get(cause)
        self._seen[cause] = now
        LOG.error(
            f'{message}: %(error)s',
            {**items, 'error': error},
            exc_info=last is None or now - last > QUIET,
        )
