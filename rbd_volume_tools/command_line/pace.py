# SPDX-License-Identifier: Apache-2.0

"""Limits how fast images are changed."""

from collections.abc import Callable
import threading
import time


class Pace:
    """Waits before each image to keep two limits.

    :param stop: ends a wait when it is set
    :param per_minute: number of changes that may begin in a minute; None for
        no limit
    :param bytes_per_second: provisioned bytes of images and snapshots; None
        for no limit
    """

    def __init__(
        self,
        stop: threading.Event,
        per_minute: float | None = None,
        bytes_per_second: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stop = stop
        self._gap = 60 / per_minute if per_minute else 0.0
        self._rate = bytes_per_second
        self._now = now
        self._next = 0.0

    def wait(self) -> bool:
        """Wait until the next change may begin.

        :returns: whether it may; otherwise, the run is being stopped
        """
        left = self.left()
        if left > 0:
            self._stop.wait(left)
        return not self._stop.is_set()

    def left(self) -> float:
        """Return the seconds until the next change may begin."""
        return max(0.0, self._next - self._now())

    def begun(self, size: int) -> None:
        """Count a change that begins.

        :param size: bytes
        """
        seconds = size / self._rate if self._rate else 0.0
        self._next = self._now() + max(self._gap, seconds)
