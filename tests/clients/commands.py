# SPDX-License-Identifier: Apache-2.0

"""Commands of clients."""

import os
import pathlib
import subprocess


def run(
    *words: str,
    cwd: str | pathlib.Path | None = None,
    said: str = '',
    status: int | None = 0,
    **environ: str,
) -> str:
    """Run a command; check its status; return its output.

    :param said: its standard input
    :param status: the expected status; None for any
    :param environ: additional environment variables
    """
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        input=said,
    )
    if status is not None and done.returncode != status:
        raise AssertionError(
            f'{" ".join(words)} ended with {done.returncode}:\n{done.stdout}'
        )
    return done.stdout
