# SPDX-License-Identifier: Apache-2.0

"""Libraries of the benchmarks, which are an extra of the distribution."""

from collections.abc import Iterator
import contextlib
import logging

from osc_lib import exceptions

from rbd_volume_options import errors
from rbd_volume_tools.command_line import printable

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
