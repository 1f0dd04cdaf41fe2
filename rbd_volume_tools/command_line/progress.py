# SPDX-License-Identifier: Apache-2.0

"""The progress of a long-running command, in a line of the terminal."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from rbd_volume_tools.command_line import printable

# Begins the line again.
_ERASE = '\r\x1b[K'
# Maximum length of a name: the first group of a UUID.
_SHORT = 8


@contextlib.contextmanager
def shown(stream: Any) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows progress, if the output is a terminal.

    It takes a text, the completed number and the total.
    """
    is_open = False

    def show(text: str, done: int, total: int) -> None:
        nonlocal is_open
        is_open = done < total
        end = '' if is_open else '\n'
        stream.write(f'{_ERASE}{printable.text(text)}: {done} of {total}{end}')
        stream.flush()

    yield show if stream.isatty() else lambda text, done, total: None
    if is_open:
        stream.write('\n')


def running(percentages: Mapping[str, int | None]) -> str:
    """Return the running operations as a text, with shortened names.

    :param percentages: how much of each is done; None if unknown
    """
    parts = [
        name[:_SHORT] if percent is None else f'{name[:_SHORT]} {percent} %'
        for name, percent in percentages.items()
    ]
    return ', '.join(parts) or 'changed'


def say(stream: Any, text: str) -> None:
    """Write a message instead of the line."""
    erase = _ERASE if stream.isatty() else ''
    print(f'{erase}{printable.text(text)}', file=stream, flush=True)
