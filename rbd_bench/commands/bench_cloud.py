# SPDX-License-Identifier: Apache-2.0

"""Options of ``cinder-rbd-ext bench run`` for the path ``guest``."""

import argparse
from collections.abc import Callable
from typing import Any

from rbd_volume_options import errors


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    group = parser.add_argument_group(
        'runs in a guest',
        'Runs of the path guest need a cloud, for which the command uses the '
        'OS_* variables or clouds.yaml. It creates a server and volumes, and '
        'removes them at the end. Without --server-image these runs are left '
        'out.',
    )
    group.add_argument(
        '--server-image',
        metavar='<image>',
        help='Glance image of the server (name or ID)',
    )
    group.add_argument(
        '--flavor',
        metavar='<flavor>',
        help='Flavor of the server (name or ID)',
    )
    group.add_argument(
        '--network',
        metavar='<network>',
        default='none',
        help='Network of the server (name or ID), from which the guest '
        'installs fio if it is missing (default: %(default)s)',
    )
    group.add_argument(
        '--volume-type',
        metavar='<type>',
        help='Volume type of the volumes, which must be in the pool (default: '
        "Cinder's default volume type)",
    )
    group.add_argument(
        '--no-user-data',
        dest='user_data',
        action='store_false',
        help='The image starts the program of the benchmark by itself; create '
        'the server without user data and without a configuration drive',
    )


def left_out(
    parsed_args: argparse.Namespace,
    cells: list[Any],
    say: Callable[[str], None],
) -> list[Any]:
    """Return the combinations that can be measured with the options.

    :raises OptionError: if there is none, or if an option is missing
    """
    from rbd_bench import plan

    if parsed_args.server_image:
        if not parsed_args.flavor:
            raise errors.OptionError(
                *('--flavor', None, 'required by --server-image'),
                'the name or the ID of a flavor',
            )
        return cells
    others = [cell for cell in cells if cell.run.path != plan.GUEST]
    names = {cell.run.name for cell in cells} - {
        cell.run.name for cell in others
    }
    if cells and not others:
        raise errors.OptionError(
            *('--server-image', None, 'required by all selected runs'),
            'the name or the ID of a Glance image',
        )
    for name in sorted(names):
        say(f'Run {name} is left out, because --server-image is not set.')
    return others


def cloud(
    parsed_args: argparse.Namespace, connect: Callable[[], Any], fsid: str
) -> Any:
    """Return the cloud of the options; None without ``--server-image``.

    :param connect: returns a connection of openstacksdk
    :param fsid: the identity of the cluster
    """
    from rbd_bench.guest import cloud

    if not parsed_args.server_image:
        return None
    wanted = cloud.Wanted(
        parsed_args.server_image,
        parsed_args.flavor,
        parsed_args.network,
        parsed_args.volume_type,
        parsed_args.user_data,
    )
    return cloud.Cloud(connect(), wanted, f'{fsid}/{parsed_args.pool}')
