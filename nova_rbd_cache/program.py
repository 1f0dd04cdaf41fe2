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
