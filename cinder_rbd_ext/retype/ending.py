# SPDX-License-Identifier: Apache-2.0

"""A program that runs another program, and ends together with its parent.

It is run by its path, so that it starts without the packages of the service::

    python ending.py PARENT PROGRAM [ARGUMENT ...]

The kernel kills the program when its parent, the volume service, ends in any
way. The setting is kept when the program is replaced by the other one.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become another program that ends together with the parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL):
        sys.exit(f'prctl: {os.strerror(ctypes.get_errno())}')
    if os.getppid() != int(sys.argv[1]):
        # The parent ended before the kernel knew about it.
        sys.exit('The parent has ended.')
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606


if __name__ == '__main__':
    main()
