# SPDX-License-Identifier: Apache-2.0

"""The program ``cinder-rbd-ext``.

Every installation of the distribution contains the program, even if the
libraries that it needs are missing.
"""

from collections.abc import Sequence
import io
import sys

NAME = 'cinder-rbd-ext'
#: The packages with the libraries that the commands import.
REQUIRED = 'python-openstackclient'
#: The extra of the distribution that installs them.
EXTRA = 'operator'
#: Exit status of commands that could not do their work; 1 is for findings.
_FAILED = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    try:
        from rbd_volume_tools import shell
    except ImportError as error:
        print(
            f'{NAME}: {error}. Install {REQUIRED} in this environment '
            f'({sys.prefix}), or this distribution with the extra {EXTRA}.',
            file=sys.stderr,
        )
        return _FAILED
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names can have characters that the encoding of the locale lacks, and
        # the result of a change has to be shown.
        sys.stdout.reconfigure(errors='backslashreplace')
    return shell.main(sys.argv[1:] if argv is None else argv)
