# SPDX-License-Identifier: Apache-2.0

"""The command line; ``tools/test life`` runs it on the sandbox."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
import pathlib
import random
import signal
import sys

import subunit

from tests.life import run
from tests.life import steps

_MINUTES = 1.5
_STEPS = 18
_WORKERS = 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/test life --',
        description='Run random sequences of requests for volumes, and check '
        'each step against Ceph and the database.',
    )
    parser.add_argument('--minutes', type=float, default=_MINUTES)
    parser.add_argument('--seed', type=int, help='(default: random)')
    parser.add_argument('--steps', type=int, default=_STEPS)
    parser.add_argument('--workers', type=int, default=_WORKERS)
    parser.add_argument(
        '--sequence',
        type=int,
        nargs='+',
        default=(),
        help='run only these sequences of the seed; repeat a number to run '
        'its sequence several times',
    )
    parser.add_argument(
        '--script',
        type=pathlib.Path,
        help='run the steps in a file: the lines that a failure shows after '
        '"step"',
    )
    parser.add_argument(
        '--known',
        default='',
        metavar='KIND,...',
        help='continue after violations of these kinds',
    )
    parser.add_argument(
        '--subunit', action='store_true', help='also write a stream of results'
    )
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument(
        '--minimise',
        action='store_true',
        help='with --sequence or --script: omit the steps that the failure '
        'does not depend on',
    )
    return parser


def _script(path: pathlib.Path | None) -> list[steps.Step] | None:
    if path is None:
        return None
    return [
        steps.Step.of(line.partition('step ')[2] or line)
        for line in path.read_text().splitlines()
        if '[' in line
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the requested sequences; return 1 if any of them failed."""
    args = _parser().parse_args(arguments)
    seed = args.seed
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    plan = run.Plan(
        seed,
        args.minutes,
        args.steps,
        args.workers,
        args.sequence,
        _script(args.script),
        frozenset(filter(None, args.known.split(','))),
        args.verbose,
        args.minimise,
    )
    run.printed(f'  seed {seed}')
    running = run.Run(plan, os.environ['CEPH_CONF'], run.printed)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.end())
    totals = running.run()
    run.printed(f'  {totals.sequences} sequences, {totals.steps} steps')
    for what in (totals.rules, totals.kinds):
        for name, count in sorted(what.items(), key=lambda each: -each[1]):
            run.printed(f'  {count:6} {name}')
    for failure in totals.failed:
        run.printed(f'failed: {failure}')
    if args.subunit:
        _write(totals)
    return 1 if totals.failed else 0


def _write(totals: run.Totals) -> None:
    """Write the result of each sequence as the result of a test."""
    stream = subunit.StreamResultToBytes(sys.stdout.buffer)
    for failure in totals.failed:
        stream.status(test_id=failure, test_status='fail')
    for number in range(totals.sequences - len(totals.failed)):
        stream.status(
            test_id=f'sequence that held, {number + 1}',
            test_status='success',
        )


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
