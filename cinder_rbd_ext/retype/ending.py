#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
