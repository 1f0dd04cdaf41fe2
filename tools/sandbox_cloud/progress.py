# SPDX-License-Identifier: Apache-2.0

"""The progress of `up`: each step and its duration."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import sys
import threading
import time
from typing import Protocol


class Progress(Protocol):
    """Shows steps; several can run in parallel."""

    def step(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Show a step until the context ends."""


class Lines:
    """A line for each completed step, for logs and pipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the step when it has ended."""
        start = time.monotonic()
        try:
            yield
        except BaseException:
            self._print(name, start, 'FAILED')
            raise
        self._print(name, start, 'ok')

    def _print(self, name: str, start: float, how: str) -> None:
        with self._lock:
            took = time.monotonic() - start
            print(f'{how:6} {name:30} {took:6.1f} s', flush=True)


class Live:
    """Spinners, for a terminal."""

    def __init__(self) -> None:
        # Imported here, because other commands run without the bootstrap venv.
        from rich import progress

        self._bars = progress.Progress(
            progress.SpinnerColumn(finished_text='[green]\N{CHECK MARK}'),
            progress.TextColumn('{task.description:30}'),
            progress.TimeElapsedColumn(),
        )

    def __enter__(self) -> Live:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show a spinner until the step has ended."""
        bar = self._bars.add_task(name, total=1)
        try:
            yield
        except BaseException:
            self._bars.update(bar, description=f'[red]{name} FAILED')
            raise
        self._bars.update(bar, completed=1)


@contextlib.contextmanager
def shown() -> Iterator[Progress]:
    """Show progress in the form that suits standard output."""
    if sys.stdout.isatty():
        with Live() as live:
            yield live
    else:
        yield Lines()
