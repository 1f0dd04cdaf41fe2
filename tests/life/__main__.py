# SPDX-License-Identifier: Apache-2.0

"""Random sequences; ``tools/test life`` runs them on the sandbox."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import functools
import io
import itertools
import os
import random
import signal
import sys
import threading
import time
from typing import Any
import uuid

import hypothesis
from hypothesis import stateful
import subunit

from tests.life import ceph_process
from tests.life import cloud
from tests.life import content
from tests.life import kinds
from tests.life import machine
from tests.life import model
from tests.life import purge
from tests.life import sequence

_IMAGE = 4 * 2**20
_BLOCKS = {0: 11, 2**20: 12, _IMAGE - content.BLOCK: 13}
#: The number of failures after which a run ends.
_FAILURES = 4
_printed = functools.partial(print, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/test life --',
        description='Run random sequences of requests for volumes, and check '
        'each step against Ceph and the database.',
    )
    parser.add_argument('--minutes', type=float, default=1.5)
    parser.add_argument('--seed', type=int, help='(default: random)')
    parser.add_argument('--steps', type=int, default=18)
    parser.add_argument('--workers', type=int, default=4)
    parser.add_argument(
        '--sequence',
        type=int,
        nargs='+',
        default=(),
        help='run only these sequences of the seed',
    )
    parser.add_argument(
        '--minimise',
        action='store_true',
        help='repeat a failed sequence with fewer steps, to find those that '
        'the failure depends on',
    )
    parser.add_argument(
        '--subunit', action='store_true', help='also write a stream of results'
    )
    parser.add_argument(
        '--verbose', action='store_true', help='show all sequences'
    )
    return parser


class _Run:
    """A run, with shared volume types and a pair of tenants per worker."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.failed: list[str] = []
        self.passed = 0
        self.operations: Counter[str] = Counter()
        self.ended = threading.Event()
        self._args = args
        self._prefix = f'{purge.PREFIX}{uuid.uuid4().hex[:6]}'
        self._cluster = ceph_process.Cluster(os.environ['CEPH_CONF'], _printed)
        self._admin = cloud.administrator()
        self._tenants = cloud.Tenants(self._admin)
        self._lock = threading.Lock()
        self._lost: set[str] = set()
        self._deadline = time.monotonic() + args.minutes * 60
        self._numbers: Iterator[int] = itertools.count(1)
        if args.sequence:
            self._numbers = iter(args.sequence)

    def run(self) -> None:
        """Run all sequences, then delete the types and tenants."""
        admin = cloud.Caller('admin', self._admin, _printed)
        purge.killed_runs(admin, self._cluster)
        before = self._cluster.everything()
        types: list[str] = []
        image = None
        try:
            types = [self._make_type(k) for k in kinds.by_name().values()]
            image = self._make_image()
            self._work(image)
        finally:
            if image:
                self._admin.image.delete(f'/images/{image.ident}')
            for ident in types:
                self._admin.block_storage.delete(f'/types/{ident}')
            self._tenants.remove()
        left = sorted(self._cluster.everything() - before)
        # A failed sequence has been reported and may leave resources.
        if left and not self.failed:
            self.failed.append(f'the run left in pools: {left[:20]}')

    def _work(self, image: model.Image) -> None:
        workers = self._args.workers
        if self._args.sequence:
            workers = min(workers, len(self._args.sequence))
        with futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda n: self._worker(n, image), range(workers)))

    def _make_type(self, kind: kinds.Kind) -> str:
        body: dict[str, Any] = {
            'name': f'{self._prefix}-{kind.name}',
            'extra_specs': kind.extra_specs(),
            'os-volume-type-access:is_public': kind.public,
        }
        answer = self._admin.block_storage.post(
            '/types', json={'volume_type': body}
        ).json()
        ident: str = answer['volume_type']['id']
        return ident

    def _make_image(self) -> model.Image:
        data = bytearray(_IMAGE)
        for at, number in _BLOCKS.items():
            data[at : at + content.BLOCK] = content.block(number)
        made = self._admin.image.create_image(
            self._prefix,
            disk_format='raw',
            container_format='bare',
            visibility='public',
            allow_duplicates=True,
        )
        self._admin.image.put(
            f'/images/{made.id}/file',
            headers={'Content-Type': 'application/octet-stream'},
            data=io.BytesIO(data),
        )
        return model.Image('', made.id, 'admin', 1, dict(_BLOCKS))

    def _worker(self, worker: int, image: model.Image) -> None:
        with self._lock:
            connections = {
                name: self._tenants.make(f'{self._prefix}-{worker}-{name}')
                for name in 'ab'
            }
            connections['admin'] = cloud.administrator()
        while time.monotonic() < self._deadline and not self.ended.is_set():
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                return
            self._sequence(connections, image, number)

    def _sequence(
        self, connections: dict[str, Any], image: model.Image, number: int
    ) -> None:
        """Run one random sequence, and with ``--minimise`` parts of it."""
        made: list[sequence.Sequence] = []
        failures: list[sequence.Sequence] = []

        def make() -> sequence.Sequence:
            if made and made[-1].failure:
                failures.append(made[-1])
            if failures and not self._args.minimise:
                # hypothesis would repeat it, to show its steps.
                raise AssertionError(failures[0].failure)
            told: list[str] = []
            callers = {
                name: cloud.Caller(name, connection, told.append)
                for name, connection in connections.items()
            }
            setting = machine.Setting(
                callers,
                self._cluster,
                self._prefix,
                image,
                self._lost,
                self.ended,
            )
            # The first one is always the simplest, and not random.
            made.append(sequence.Sequence(setting, told, is_trivial=not made))
            return made[-1]

        phases = [hypothesis.Phase.generate]
        if self._args.minimise:
            phases.append(hypothesis.Phase.shrink)
        how = hypothesis.settings(
            max_examples=1,
            stateful_step_count=self._args.steps,
            phases=phases,
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            verbosity=hypothesis.Verbosity.quiet,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        factory: Any = hypothesis.seed(self._args.seed * 10**6 + number)(make)
        began, error = time.monotonic(), ''
        try:
            stateful.run_state_machine_as_test(factory, settings=how)
        except Exception as raised:
            error = repr(raised)
        failures += [each for each in made[-1:] if each.failure]
        shown = failures[-1] if failures else made[-1]
        seconds = time.monotonic() - began
        what = f'sequence {number} of seed {self._args.seed}'
        with self._lock:
            self._count(what, shown, error, seconds)

    def _count(
        self, what: str, shown: sequence.Sequence, error: str, seconds: float
    ) -> None:
        self.operations.update(shown.operations)
        _printed(f'  {what}: {len(shown.operations)} steps, {seconds:.0f} s')
        if error or self._args.verbose:
            _printed('\n'.join(f'    {line}' for line in shown.told))
        if error:
            self.failed.append(f'{what}: {(shown.failure or error)[:300]}')
        else:
            self.passed += 1
        if len(self.failed) >= _FAILURES:
            self.ended.set()


def main(arguments: Sequence[str]) -> int:
    """Run the requested sequences; return 1 if any of them failed."""
    args = _parser().parse_args(arguments)
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(10**6)
    _printed(f'  seed {args.seed}')
    run = _Run(args)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: run.ended.set())
    run.run()
    steps = run.operations.total()
    _printed(f'  {run.passed + len(run.failed)} sequences, {steps} steps')
    for name, count in run.operations.most_common():
        _printed(f'  {count:6} {name}')
    for failure in run.failed:
        _printed(f'failed: {failure}')
    if args.subunit:
        stream = subunit.StreamResultToBytes(sys.stdout.buffer)
        for failure in run.failed:
            stream.status(test_id=failure, test_status='fail')
        for number in range(run.passed):
            name = f'sequence that held, {number + 1}'
            stream.status(test_id=name, test_status='success')
    return 1 if run.failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
