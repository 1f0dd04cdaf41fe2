# SPDX-License-Identifier: Apache-2.0

"""The command line; ``tools/test trust`` runs it on a sandbox."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import contextlib
import functools
import pathlib
import random
import signal
import sys
import tempfile

import subunit

from tests.cloud import clustered
from tests.trust import faults
from tests.trust import operations
from tests.trust import report
from tests.trust import rounds

_MINUTES = 60.0
#: What runs without options, in continuous integration: a failure is due to
#: the change, not to the draw. The rounds kill the OSD, stop the monitor, and
#: kill cinder-volume.
_SEED = 261124
_SAMPLE = (276, 284, 37)
_LOAD = 4
_KINDS = ('kill', 'stop', 'cluster', 'clock')
_CUT, _SERVICE = 'cut', 'service'
_printed = functools.partial(print, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/test trust --',
        description='Inject faults while tenants of both drivers, ours and '
        'the stock one, send the same requests; show a table of what became '
        'of these.',
    )
    parser.add_argument(
        '--minutes',
        type=float,
        default=_MINUTES,
        help='time after which no round starts (default: %(default)s)',
    )
    parser.add_argument(
        '--seed', type=int, help='(default: random; without options: a sample)'
    )
    parser.add_argument(
        '--load',
        type=int,
        default=_LOAD,
        help='operations of each driver in a round (default: %(default)s)',
    )
    parser.add_argument(
        '--faults',
        type=int,
        default=1,
        help='faults in a round, one after the other; 0 to show instead '
        'whether services grow (default: %(default)s)',
    )
    parser.add_argument(
        '--kind',
        action='append',
        choices=list(faults.TARGETS),
        help='kind of faults; repeat the option for several (default: all '
        'except "cut", which needs a sandbox with a name, and "service": two '
        'volume services of a cluster, one of which is killed)',
    )
    parser.add_argument(
        '--target',
        action='append',
        choices=sorted(
            {
                *(e for each in faults.TARGETS.values() for e in each),
                *faults.SERVER_PROGRAMS,
            }
        ),
        metavar='TARGET',
        help='what faults of these kinds are drawn for; repeat the option for '
        'several (default: all): %(choices)s',
    )
    parser.add_argument(
        '--operation',
        action='append',
        choices=[each.name for each in operations.OPERATIONS],
        help='operation to draw; repeat the option for several (default: '
        'all with the same work for both drivers)',
    )
    parser.add_argument(
        '--servers',
        action='store_true',
        help='volumes of servers on two compute hosts: draw only operations '
        'of Nova, and faults of its services, libvirt and QEMU',
    )
    parser.add_argument(
        '--mixed',
        action='store_true',
        help='the second service of kind "service" has the stock driver, as '
        'during an upgrade',
    )
    parser.add_argument(
        '--round', type=int, nargs='+', default=(), help='only these rounds'
    )
    parser.add_argument(
        '--output', type=pathlib.Path, help='file for the counts, as JSON'
    )
    parser.add_argument(
        '--report',
        type=pathlib.Path,
        nargs='+',
        help='only show the table of these files',
    )
    parser.add_argument(
        '--subunit', action='store_true', help='also write a stream of results'
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run rounds, and show the table; return 1 if a volume is wrong."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.report:
        _printed(report.Report.merged(args.report).table())
        return 0
    seed = args.seed
    if not {*arguments} - {'--subunit'}:
        seed, args.round = _SEED, _SAMPLE
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    targets = faults.offered(
        args.kind or _KINDS, args.target or (), args.servers
    )
    if not targets:
        parser.error('no fault of these kinds has one of these targets')
    if _CUT in targets and not faults.can_cut():
        parser.error('"cut" needs a sandbox with a name')
    if args.mixed and _SERVICE not in targets:
        parser.error('--mixed needs --kind service')
    usual = [each.name for each in operations.FAIR]
    if args.servers:
        usual = [each.name for each in operations.OF_SERVERS]
    chosen = args.operation or usual
    plan = rounds.Plan(
        seed,
        args.minutes,
        args.load,
        targets,
        tuple(args.round),
        tuple(e for e in operations.OPERATIONS if e.name in chosen),
        args.faults,
    )
    _printed(f'  seed {seed}')
    with contextlib.ExitStack() as stack:
        services: list[clustered.Service] = []
        if _SERVICE in plan.targets:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            second = clustered.STOCK if args.mixed else clustered.OURS
            services = stack.enter_context(
                clustered.running(pathlib.Path(folder), second)
            )
        running = rounds.Rounds(plan, _printed, services)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: running.end())
        running.run()
    if args.output:
        running.report.save(args.output)
    _printed(running.report.table())
    if not args.faults:
        _printed(running.growth.table())
    # Cinder and the stock driver cause some of the other counts.
    wrong = running.report.total('ours')['wrong']
    if args.subunit:
        stream = subunit.StreamResultToBytes(sys.stdout.buffer)
        for name, count in (
            ('no volume of ours is wrong', wrong),
            ('every round ran', running.broken),
        ):
            status = 'fail' if count else 'success'
            stream.status(test_id=name, test_status=status)
    return 1 if wrong or running.broken else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
