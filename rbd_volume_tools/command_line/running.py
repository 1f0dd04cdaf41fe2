# SPDX-License-Identifier: Apache-2.0

"""Signals that end a long-running command."""

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import os
import signal
import socket
import threading
from typing import Any

#: Seconds for the removal of images, servers and volumes after a signal.
LIMIT = 900.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Cleaning:
    """What happens while a command removes its images after a signal."""

    def begun(self) -> None:
        """Say that the removal has begun."""

    def abandoned(self) -> None:
        """Say what remains, because the process ends now."""


@contextlib.contextmanager
def ended_by_signals(
    cleaning: Cleaning | None = None, limit: float = LIMIT
) -> Iterator[None]:
    """Have SIGTERM and SIGHUP end a run like Ctrl-C.

    Later signals do not interrupt the command while it removes its images.
    With ``cleaning``, a later Ctrl-C ends the process, and so does the limit.
    A signal that is ignored from the start, as by ``nohup``, stays ignored.

    :param limit: seconds for the removal
    """
    is_ending = False

    def interrupt(number: int, frame: Any) -> None:
        nonlocal is_ending
        if not is_ending:
            is_ending = True
            raise KeyboardInterrupt

    caught = [x for x in _SIGNALS if signal.getsignal(x) != signal.SIG_IGN]
    with contextlib.ExitStack() as stack:
        if cleaning:
            stack.enter_context(_watched(cleaning, caught, limit))
        for each in caught:
            stack.callback(signal.signal, each, signal.getsignal(each))
            signal.signal(each, interrupt)
        yield


@contextlib.contextmanager
def _watched(
    cleaning: Cleaning, caught: Collection[int], limit: float
) -> Iterator[None]:
    """Have a thread receive the signals.

    Python calls a handler only between two calls of librados, and such a call
    can last for minutes if the cluster does not respond.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    thread = threading.Thread(
        target=_watch, args=(reader, cleaning, caught, limit), daemon=True
    )
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        thread.join()
        reader.close()


def _watch(
    reader: socket.socket,
    cleaning: Cleaning,
    caught: Collection[int],
    limit: float,
) -> None:
    """Wait for the signals, whose numbers can be read from a socket."""
    while (number := reader.recv(1)) and number[0] not in caught:
        pass
    if not number:
        return
    cleaning.begun()
    reader.settimeout(limit)
    with contextlib.suppress(TimeoutError):
        while (number := reader.recv(1)) and number[0] != signal.SIGINT:
            pass
        if not number:
            return
    cleaning.abandoned()
    os._exit(1)
