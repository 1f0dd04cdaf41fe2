# SPDX-License-Identifier: Apache-2.0

"""The progress of a long-running command."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from rbd_volume_tools.command_line import printable

# Draws a bar. Called with its key, its text, the completed number and the
# total.
_Draw = Callable[[str, str, int, int], None]

# Maximum length of a name: the first group of a UUID.
_SHORT = 8


@contextlib.contextmanager
def shown(stream: Any) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows the progress in each pool."""
    with _drawn(
        stream,
        lambda bars: (
            bars.TextColumn('{task.description}', markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeRemainingColumn(),
        ),
    ) as draw:
        yield lambda pool, done, total: draw(pool, pool, done, total)


@contextlib.contextmanager
def with_time_left(
    stream: Any,
) -> Iterator[Callable[[int, int, float], None]]:
    """Yield a function that shows progress and the remaining seconds."""
    with _drawn(
        stream,
        lambda bars: (
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn('{task.description}', markup=False),
        ),
    ) as draw:

        def show(done: int, total: int, left: float) -> None:
            minutes, seconds = divmod(round(left), 60)
            draw('', f'{minutes}:{seconds:02} left', done, total)

        yield show


@contextlib.contextmanager
def with_running(
    stream: Any,
) -> Iterator[Callable[[int, int, Mapping[str, int | None]], None]]:
    """Yield a function that shows progress and the running operations.

    Its last parameter is the percentage of each running operation by name;
    None if unknown. Names are shortened.
    """
    with _drawn(
        stream,
        lambda bars: (
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn('{task.description}', markup=False),
        ),
    ) as draw:

        def show(
            done: int, total: int, running: Mapping[str, int | None]
        ) -> None:
            parts = [
                name[:_SHORT]
                if percent is None
                else f'{name[:_SHORT]} {percent} %'
                for name, percent in running.items()
            ]
            draw('', ', '.join(parts), done, total)

        yield show


@contextlib.contextmanager
def _drawn(
    stream: Any, columns: Callable[[Any], tuple[Any, ...]]
) -> Iterator[_Draw]:
    """Yield a function that draws bars, if the output is a terminal.

    :param columns: returns the columns of a bar, given rich's module
    """
    if not stream.isatty():
        yield lambda key, text, done, total: None
        return
    try:
        from rich import console
        from rich import progress as bars
    except ImportError:
        yield _lines(stream)
        return
    where = console.Console(file=stream)
    with bars.Progress(*columns(bars), console=where) as drawn:
        tasks: dict[str, bars.TaskID] = {}

        def draw(key: str, text: str, done: int, total: int) -> None:
            if key not in tasks:
                tasks[key] = drawn.add_task('', total=total)
            drawn.update(
                tasks[key],
                description=printable.text(text),
                completed=done,
                total=total,
            )

        yield draw


def _lines(stream: Any) -> _Draw:
    """Return a function that rewrites a line."""

    def draw(key: str, text: str, done: int, total: int) -> None:
        stream.write(f'\r{printable.text(text)}: {done} of {total} ')
        if done == total:
            stream.write('\n')
        stream.flush()

    return draw
