# SPDX-License-Identifier: Apache-2.0

"""A run: several workers run sequences until the time is up."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import functools
import io
import itertools
import threading
import time
from typing import Any
import uuid

from tests.life import ceph_process
from tests.life import cloud
from tests.life import content
from tests.life import kinds
from tests.life import leftovers
from tests.life import minimise
from tests.life import model
from tests.life import purge
from tests.life import sequence
from tests.life import steps as steps_module
from tests.life import world as worlds

#: Number of sequences that could not run before the run ends.
_BROKEN = 4
_IMAGE = 4 * 2**20
_BLOCKS = {0: 11, 2**20: 12, _IMAGE - content.BLOCK: 13}


@dataclasses.dataclass(frozen=True)
class Plan:
    """The parameters of a run.

    :ivar seed: seed of all random values
    :ivar minutes: time after which no sequence starts
    :ivar steps: number of steps in a sequence
    :ivar workers: number of sequences that run in parallel
    :ivar only: numbers of the only sequences to run; a number may be
        repeated
    :ivar script: steps to run instead of random ones
    :ivar known: kinds of violations that do not end a sequence
    :ivar verbose: whether to show all sequences, not only failed ones
    :ivar minimise: whether to reduce the failed sequence to the steps that
        its failure needs
    """

    seed: int
    minutes: float
    steps: int
    workers: int
    only: Sequence[int] = ()
    script: Sequence[steps_module.Step] | None = None
    known: frozenset[str] = frozenset()
    verbose: bool = False
    minimise: bool = False


@dataclasses.dataclass
class Totals:
    """The results of a run."""

    sequences: int = 0
    steps: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)
    kinds: dict[str, int] = dataclasses.field(default_factory=dict)
    rules: dict[str, int] = dataclasses.field(default_factory=dict)


class Run:
    """A run, with shared volume types and a pair of tenants per worker."""

    def __init__(
        self, plan: Plan, conf: str, show: Callable[[str], None]
    ) -> None:
        self.plan = plan
        self.totals = Totals()
        self._show = show
        self._prefix = f'{purge.PREFIX}{uuid.uuid4().hex[:6]}'
        self._cluster = ceph_process.Cluster(conf, show)
        self._admin = cloud.administrator()
        self._tenants = cloud.Tenants(self._admin)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._lost: set[str] = set()
        self._numbers: Iterator[int] = itertools.count(1)
        if plan.only:
            self._numbers = iter(plan.only)
        self._deadline = time.monotonic() + plan.minutes * 60

    def run(self) -> Totals:
        """Run all sequences, then delete the types and tenants."""
        admin = cloud.Caller('admin', self._admin, self._show)
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
        # A failed sequence has been reported and may leave resources.
        left = leftovers.check_cluster(self._cluster, before)
        if left and not self.totals.failed:
            self._failed('the run', ['left-in-pools'], f'left: {left[:20]}')
        return self.totals

    def end(self) -> None:
        """Start no further step or sequence."""
        self._ended.set()

    def _work(self, image: model.Image) -> None:
        workers = 1 if self._is_single else self.plan.workers
        with futures.ThreadPoolExecutor(workers) as pool:
            running = [
                pool.submit(self._worker, number, image)
                for number in range(workers)
            ]
            for each in futures.as_completed(running):
                each.result()

    @property
    def _is_single(self) -> bool:
        return len(self.plan.only) == 1 or self.plan.script is not None

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
        return model.Image('', made.id, 'admin', 1, dict(_BLOCKS), True)

    def _worker(self, number: int, image: model.Image) -> None:
        with self._lock:
            connections = {
                name: self._tenants.make(f'{self._prefix}-{number}-{name}')
                for name in 'ab'
            }
            connections['admin'] = cloud.administrator()
        if self._is_single:
            self._single(connections, image)
            return
        while time.monotonic() < self._deadline and not self._ended.is_set():
            with self._lock:
                mine = next(self._numbers, None)
            if mine is None:
                return
            self._sequence(connections, image, mine)

    def _single(self, connections: dict[str, Any], image: model.Image) -> None:
        number, script = (*self.plan.only, 0)[0], self.plan.script
        result = self._sequence(connections, image, number, script)
        if not self.plan.minimise or not result.violations:
            return
        kind = result.violations[-1].kind

        def fails(some: Sequence[steps_module.Step]) -> bool:
            if self._ended.is_set():
                return False
            result = self._sequence(connections, image, number, some)
            return kind in {each.kind for each in result.violations}

        enough = minimise.reduced(result.steps, fails)
        self._show(f'  enough for {kind}:')
        for step in enough:
            self._show(f'    step {step.line()}')

    def _sequence(
        self,
        connections: dict[str, Any],
        image: model.Image,
        number: int,
        script: Sequence[steps_module.Step] | None = None,
    ) -> sequence.Result:
        told: list[str] = []
        callers = {
            name: cloud.Caller(name, connection, told.append)
            for name, connection in connections.items()
        }
        world = worlds.World(
            callers,
            self._cluster,
            self._prefix,
            image,
            told.append,
            self.plan.known,
            lost_reservations=self._lost,
        )
        seed = f'{self.plan.seed} {number}'
        groups: Iterable[steps_module.Group] = steps_module.drawn(
            world.model, seed, self.plan.steps
        )
        if script:
            groups = steps_module.grouped(script)
        going_on = itertools.takewhile(
            lambda _: not self._ended.is_set(), groups
        )
        began = time.monotonic()
        result = sequence.run(world, going_on, seed)
        self._count(number, result, told, time.monotonic() - began)
        return result

    def _count(
        self,
        number: int,
        result: sequence.Result,
        told: list[str],
        seconds: float,
    ) -> None:
        what = f'sequence {number} of seed {self.plan.seed}'
        with self._lock:
            self.totals.sequences += 1
            self.totals.steps += len(result.steps)
            for step in result.steps:
                count = self.totals.rules.get(step.rule, 0)
                self.totals.rules[step.rule] = count + 1
            self._show(
                f'  {what}: {len(result.steps)} steps, {seconds:.0f} s, '
                f'{len(result.violations)} violations'
            )
            if result.violations:
                violated = [each.kind for each in result.violations]
                self._failed(what, violated, str(result.violations[-1]))
            if result.violations or self.plan.verbose:
                self._show('\n'.join(f'    {line}' for line in told))

    def _failed(self, what: str, violated: list[str], text: str) -> None:
        for kind in violated:
            self.totals.kinds[kind] = self.totals.kinds.get(kind, 0) + 1
        if self.totals.kinds.get(sequence.BROKEN, 0) >= _BROKEN:
            self.end()
        self.totals.failed.append(f'{what}: {text[:300]}')


printed = functools.partial(print, flush=True)
