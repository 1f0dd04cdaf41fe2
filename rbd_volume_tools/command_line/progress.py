# SPDX-License-Identifier: Apache-2.0

"""The progress of a long-running command."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from rbd_volume_tools.command_line import printable

# Maximum length of a name: the first group of a UUID.
_SHORT = 8


@contextlib.contextmanager
def shown(stream: Any) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows a bar, if the output is a terminal.

    It takes the text of the bar, the completed number and the total.
    """
    with _drawn(stream) as draw:
        yield lambda text, done, total: draw(text, text, done, total)


@contextlib.contextmanager
def with_running(
    stream: Any,
) -> Iterator[Callable[[int, int, Mapping[str, int | None]], None]]:
    """Yield a function that shows progress and the running operations.

    Its last parameter is the percentage of each running operation by name;
    None if unknown. Names are shortened.
    """
    with _drawn(stream) as draw:

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
def _drawn(stream: Any) -> Iterator[Callable[[str, str, int, int], None]]:
    """Yield a function that draws the bar of a key, with a text."""
    if not stream.isatty():
        yield lambda key, text, done, total: None
        return
    try:
        from rich import console
        from rich import progress as bars
    except ImportError:

        def line(key: str, text: str, done: int, total: int) -> None:
            end = '\n' if done == total else ''
            stream.write(f'\r{printable.text(text)}: {done} of {total} {end}')
            stream.flush()

        yield line
        return
    with bars.Progress(
        bars.TextColumn('{task.description}', markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        console=console.Console(file=stream),
    ) as drawn:
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
