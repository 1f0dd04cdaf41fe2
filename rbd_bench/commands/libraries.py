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


"""Libraries of the benchmarks, which are an extra of the distribution."""

from collections.abc import Iterator
import contextlib
import logging

from osc_lib import exceptions

from rbd_command_line import printable
from rbd_volume_options import errors

#: The extra of the distribution that installs the libraries.
_EXTRA = 'rbd-volume-options[bench]'


@contextlib.contextmanager
def of_bench() -> Iterator[None]:
    """Name the extra that a missing library belongs to.

    :raises CommandError: if one is missing, or for an invalid value
    """
    # Do not show messages about matplotlib's font cache.
    logging.getLogger('matplotlib').setLevel(logging.WARNING)
    try:
        yield
    except ImportError as error:
        raise exceptions.CommandError(
            f'{error}. Install {_EXTRA}, and python3-rados and python3-rbd '
            'of the distribution.'
        ) from error
    except errors.OptionError as error:
        raise exceptions.CommandError(printable.text(str(error))) from error
