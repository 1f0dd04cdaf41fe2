# SPDX-License-Identifier: Apache-2.0

"""Options of commands that audit images, and the audit itself."""

import argparse
from typing import Any

from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import ceph_arguments


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    ceph_arguments.add(parser)
    parser.add_argument(
        '--pool',
        metavar='<pool>',
        action='append',
        help='Ceph pool to audit; repeat the option for several pools '
        '(default: all pools with the application rbd)',
    )
    parser.add_argument(
        '--no-cloud',
        action='store_true',
        help='Audit Ceph without the records of Cinder, Glance and Nova, '
        'which are required to find orphans and volumes without an image',
    )
    parser.add_argument(
        '--workers',
        metavar='<number>',
        type=maintenance.number_from(1, most=64, kind=int),
        default=scan.WORKERS,
        help='Number of connections that read images (default: %(default)s)',
    )


def audited(
    shell: Any,
    parsed_args: argparse.Namespace,
    progress: run.Progress = lambda pool, done, total: None,
    timeout: int | None = None,
    with_usage: bool = False,
) -> report.Report:
    """Run an audit.

    :param shell: the application, which connects to the cloud
    :param timeout: seconds for an operation of Ceph; None for Ceph's own limit
    :param with_usage: whether to read the used space of images
    :raises RuntimeError: if Ceph's libraries for Python are not installed
    """
    # Before the scan, which can take long.
    cloud = None if parsed_args.no_cloud else shell.administrator()
    cluster = ceph_cluster.connected(parsed_args, timeout)

    def read_records() -> records.Records | None:
        if cloud is None:
            return None
        return records.of_cloud(cloud, cluster.fsid())

    return run.run(
        cluster,
        parsed_args.pool,
        read_records,
        progress,
        parsed_args.workers,
        with_usage,
        getattr(parsed_args, 'objects', False),
        getattr(parsed_args, 'objects_per_second', None),
    )
