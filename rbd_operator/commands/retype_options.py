# SPDX-License-Identifier: Apache-2.0

"""Options of ``cinder-rbd-ext retype``."""

import argparse
import pathlib

from rbd_operator.commands import maintenance


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    _add_choice(parser)
    _add_limits(parser)
    _add_conditions(parser)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'volume',
        metavar='<volume-id>',
        nargs='*',
        help='Volume, of any project (default: all volumes of the type of '
        '--from)',
    )
    parser.add_argument(
        '--from',
        dest='former',
        metavar='<type>',
        required=True,
        help='Former volume type (name or ID)',
    )
    parser.add_argument(
        '--to',
        dest='target',
        metavar='<type>',
        required=True,
        help='New volume type (name or ID)',
    )
    parser.add_argument(
        '--project',
        metavar='<id>',
        action='append',
        default=[],
        help='Volumes of this project; repeat the option for several projects '
        '(default: all projects)',
    )
    parser.add_argument(
        '--limit',
        metavar='<number>',
        type=_count,
        help='Maximum number of volumes of this run (default: no limit)',
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='Show which volumes would be retyped; change nothing',
    )
    parser.add_argument(
        '--rate',
        metavar='<number>',
        type=maintenance.number_from(0, above=True),
        help='Maximum number of retypes that begin in a minute (default: no '
        'limit)',
    )
    parser.add_argument(
        '--at-once',
        metavar='<number>',
        type=_count,
        default=4,
        help='Maximum number of retypes at the same time (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--migration-policy',
        choices=['never', 'on-demand'],
        default='never',
        help='Whether Cinder may migrate a volume that is not converted. '
        'A migration copies the data through the host of cinder-volume '
        '(default: %(default)s)',
    )


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--journal',
        metavar='<file>',
        type=pathlib.Path,
        help='File where each retype is recorded. The same command with the '
        'same file continues, and also reports what earlier runs have done',
    )
    parser.add_argument(
        '--patience',
        metavar='<minutes>',
        type=maintenance.number_from(0, above=True),
        default=60.0,
        help='Time without progress after which a volume is reported as '
        'failed, or the run ends if Cinder does not answer (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--ignore-health',
        action='store_true',
        help='Do not read the health of the Ceph cluster. Otherwise no '
        'retype begins while it reports health checks such as PG_DEGRADED, '
        'SLOW_OPS or OSD_NEARFULL',
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{number} is not at least 1')
    return number
