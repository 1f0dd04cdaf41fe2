# SPDX-License-Identifier: Apache-2.0

"""The last audit, and a thread that repeats it."""

from collections.abc import Callable
import dataclasses
import threading
import time

from rbd_volume_tools.exporter import metrics


@dataclasses.dataclass(frozen=True)
class AuditState:
    """The known state of the images.

    :ivar up: whether the last audit succeeded
    :ivar values: of the last successful audit, even if a later one failed
    """

    up: bool = False
    values: metrics.Values = dataclasses.field(default_factory=metrics.Values)


class Refresher:
    """Repeats an audit in the background.

    :param audit: runs one, and returns its values
    :param interval: seconds between the beginnings of two audits
    :param report_failure: called with the reason if an audit fails
    :param clock: returns the Unix time in seconds
    """

    def __init__(
        self,
        audit: Callable[[], metrics.Values],
        interval: float,
        report_failure: Callable[[Exception], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._audit = audit
        self._interval = interval
        self._report_failure = report_failure
        self._clock = clock
        self._state = AuditState()
        self._began: float | None = None

    def start(self) -> None:
        """Start the thread, which ends with the process.

        An audit changes nothing, and librbd may wait forever for a cluster
        that is down.
        """
        threading.Thread(target=self._repeat, daemon=True).start()

    @property
    def state(self) -> AuditState:
        """The current state.

        An audit that has not ended after two intervals counts as failed.
        """
        state, began = self._state, self._began
        if began is not None and self._clock() - began > 2 * self._interval:
            return dataclasses.replace(state, up=False)
        return state

    def refresh(self) -> None:
        """Run one audit. A failure is reported, not raised."""
        self._began = self._clock()
        try:
            self._state = AuditState(True, self._audit())
        except Exception as error:
            self._state = dataclasses.replace(self._state, up=False)
            self._report_failure(error)
        finally:
            self._began = None

    def _repeat(self) -> None:
        while True:
            began = time.monotonic()
            self.refresh()
            passed = time.monotonic() - began
            time.sleep(max(0.0, self._interval - passed))
