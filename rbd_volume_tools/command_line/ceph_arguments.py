# SPDX-License-Identifier: Apache-2.0

"""Options of commands that connect to Ceph."""

import argparse
import os


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    parser.add_argument(
        '--ceph-conf',
        metavar='<file>',
        default=os.environ.get('CEPH_CONF', '/etc/ceph/ceph.conf'),
        help='Ceph configuration file (default: CEPH_CONF, or '
        '/etc/ceph/ceph.conf)',
    )
    parser.add_argument(
        '--ceph-user',
        metavar='<name>',
        default='cinder',
        help='Ceph user without "client." (default: %(default)s)',
    )
