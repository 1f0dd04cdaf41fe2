# SPDX-License-Identifier: Apache-2.0

"""The connection of a command to Ceph."""

import argparse

from rbd_volume_tools.audit import scan


def connected(
    parsed_args: argparse.Namespace, timeout: int | None = None
) -> scan.Cluster:
    """Return the cluster of the options.

    :param timeout: seconds for an operation of Ceph; None for Ceph's own limit
    :raises RuntimeError: if Ceph's libraries for Python are not installed
    """
    # The distribution packages of Ceph contain these modules. Other commands
    # do not need them.
    try:
        import rados
        import rbd
    except ImportError as error:
        raise RuntimeError(
            f'{error}. Install python3-rados and python3-rbd, and use '
            'a Python environment that has the packages of the system.'
        ) from error
    return scan.Cluster(
        rados, rbd, parsed_args.ceph_conf, parsed_args.ceph_user, timeout
    )
