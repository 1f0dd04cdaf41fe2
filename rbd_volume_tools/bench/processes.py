# SPDX-License-Identifier: Apache-2.0

"""Runs the programs that send requests; they end with this process."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import ctypes.util
import os
import pathlib
import shutil
import subprocess

_GRACE = 5.0
_SHOWN = 400
#: Libraries that replace the allocator of libc; the first installed one is
#: used.
_ALLOCATORS = {
    'tcmalloc': ('tcmalloc', 'tcmalloc_minimal'),
    'jemalloc': ('jemalloc',),
}


class EngineError(Exception):
    """A program is missing or failed; the measurement is skipped."""


def environ(allocator: str = 'libc', **values: str) -> dict[str, str]:
    """Return the environment of a program.

    :param allocator: the memory allocator
    :raises EngineError: if the library of the allocator is not installed
    """
    environment = {**os.environ, **values}
    if allocator != 'libc':
        names = _ALLOCATORS[allocator]
        libraries = filter(None, map(ctypes.util.find_library, names))
        library = next(libraries, None)
        if library is None:
            raise EngineError(
                f'no library of {allocator} is installed; install '
                f'{" or ".join(f"lib{name}" for name in names)}'
            )
        environment['LD_PRELOAD'] = library
    return environment


@contextlib.contextmanager
def running(
    command: Sequence[str], env: Mapping[str, str], errors: pathlib.Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the context ends.

    It has its own session: an interrupt from the keyboard reaches this
    process only, which then ends the program.

    :param errors: the file for its messages
    :raises EngineError: if it is not installed
    """
    if shutil.which(command[0]) is None:
        raise EngineError(f'{command[0]} is not installed')
    with_parent = []
    if shutil.which('setpriv'):
        # If this process is killed, no program continues to write.
        with_parent = ['setpriv', '--pdeathsig', 'KILL', '--']
    with (
        errors.open('wb') as log,
        subprocess.Popen(
            [*with_parent, *command],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as child,
    ):
        try:
            yield child
        finally:
            end(child)


def output(command: Sequence[str]) -> str:
    """Run a program and return its output.

    :raises EngineError: if it is not installed or fails
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise EngineError(f'{command[0]} is not installed') from None
    if done.returncode:
        raise EngineError(
            f'{command[0]} ended with {done.returncode}: '
            f'{done.stderr.strip()[-_SHOWN:]}'
        )
    return done.stdout


def end(child: 'subprocess.Popen[bytes]') -> None:
    """End a program, which closes the image."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def failure(
    child: 'subprocess.Popen[bytes]', errors: pathlib.Path
) -> EngineError:
    """Return the error for a program that has ended."""
    words: Sequence[str] = child.args  # type: ignore[assignment]
    names = (pathlib.PurePath(word).name for word in words)
    name = next(x for x in names if x.startswith(('fio', 'qemu')))
    text = errors.read_text(errors='replace').strip()[-_SHOWN:]
    return EngineError(f'{name} ended with {child.returncode}: {text}')
