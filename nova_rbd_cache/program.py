# SPDX-License-Identifier: Apache-2.0

"""The program ``nova-rbd-cache``.

The distribution installs it everywhere, even where the libraries that it
needs are missing.
"""

from collections.abc import Sequence
import sys

NAME = 'nova-rbd-cache'
#: The package with the libraries that the commands import.
REQUIRED = 'cliff'
#: The extra of the distribution that installs it.
EXTRA = 'nova'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    try:
        from nova_rbd_cache import shell
    except ImportError as error:
        print(
            f'{NAME}: {error}. Install {REQUIRED} in this environment '
            f'({sys.prefix}), or this distribution with the extra {EXTRA}.',
            file=sys.stderr,
        )
        return 1
    return shell.main(sys.argv[1:] if argv is None else argv)
