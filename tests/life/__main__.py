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
    asked = _parser().parse_args(arguments)
    seed = asked.seed
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    plan = run.Plan(
        seed,
        asked.minutes,
        asked.steps,
        asked.workers,
        asked.sequence,
        _script(asked.script),
        frozenset(filter(None, asked.known.split(','))),
        asked.verbose,
        asked.minimise,
    )
    run.printed(f'  seed {seed}')
    running = run.Run(plan, os.environ['CEPH_CONF'], run.printed)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.end())
    found = running.run()
    run.printed(f'  {found.sequences} sequences, {found.steps} steps')
    for what in (found.rules, found.kinds):
        for name, count in sorted(what.items(), key=lambda each: -each[1]):
            run.printed(f'  {count:6} {name}')
    for failure in found.failed:
        run.printed(f'failed: {failure}')
    if asked.subunit:
        _write(found)
    return 1 if found.failed else 0


def _write(found: run.Totals) -> None:
    """Write the result of each sequence as the result of a test."""
    stream = subunit.StreamResultToBytes(sys.stdout.buffer)
    for failure in found.failed:
        stream.status(test_id=failure, test_status='fail')
    for number in range(found.sequences - len(found.failed)):
        stream.status(
            test_id=f'sequence that held, {number + 1}',
            test_status='success',
        )


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
