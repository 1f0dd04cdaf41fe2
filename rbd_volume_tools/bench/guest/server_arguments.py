# SPDX-License-Identifier: Apache-2.0

"""Options of commands that create servers."""

import argparse
from typing import Any

from rbd_volume_options import errors


def add(parser: Any) -> None:
    """Add the options of a server to the parser of a command."""
    parser.add_argument(
        '--server-image',
        metavar='<image>',
        help='Glance image of the server (name or ID); its properties decide '
        'on the machine type and the bus of the disks',
    )
    parser.add_argument(
        '--flavor',
        metavar='<flavor>',
        help='Flavor of the server (name or ID)',
    )
    parser.add_argument(
        '--network',
        metavar='<network>',
        default='none',
        help='Network of the server (name or ID), from which the guest '
        'installs missing programs (default: %(default)s)',
    )
    parser.add_argument(
        '--no-user-data',
        dest='user_data',
        action='store_false',
        help='The image starts the program of the benchmark by itself; create '
        'the server without user data and without a configuration drive',
    )


def wanted(parsed_args: argparse.Namespace) -> Any:
    """Return the server of the options.

    :raises OptionError: if an option is missing
    """
    # It imports libraries that may be missing.
    from rbd_volume_tools.bench.guest import cloud

    for option in ('server_image', 'flavor'):
        if not getattr(parsed_args, option):
            raise errors.OptionError(
                *(f'--{option.replace("_", "-")}', None, 'required'),
                'a name or an ID',
            )
    return cloud.Wanted(
        parsed_args.server_image,
        parsed_args.flavor,
        parsed_args.network,
        parsed_args.volume_type,
        parsed_args.user_data,
    )
