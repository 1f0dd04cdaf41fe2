# SPDX-License-Identifier: Apache-2.0

"""The state machine of a sequence: its operations, its model and waiting."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from concurrent import futures
import dataclasses
import random
import threading
import time
from typing import Any
from typing import TypeVar

import hypothesis
from hypothesis import stateful
from hypothesis import strategies

from tests.life import ceph_process
from tests.life import cloud
from tests.life import kinds
from tests.life import metadata
from tests.life import model as models
from tests.life import state as states

Record = cloud.Record
Verdict = metadata.Verdict
Operation = Iterator[None]
T = TypeVar('T', bound=models.Resource)

#: Seconds; enough for a busy machine with two processors.
_PATIENCE = 150
_FINAL = ('available', 'in-use', 'reserved', 'attaching', 'awaiting-transfer')
_MOVING = ('starting', 'migrating', 'completing')
#: Probability that an operation runs in parallel with the next one.
_BESIDE = 0.25
#: The number of operations between checks of the content of all volumes.
_ALL_READ = 6


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the sequences of a worker have in common.

    :ivar callers: the tenants ``a`` and ``b``, and ``admin``
    :ivar prefix: of the names of the volume types
    :ivar image: a public Glance image
    :ivar lost_reservations: IDs of open reservations that Cinder is known to
        lose
    :ivar ended: whether to start no further operation
    """

    callers: Mapping[str, cloud.Caller]
    cluster: ceph_process.Cluster
    prefix: str
    image: models.Image
    lost_reservations: set[str]
    ended: threading.Event


def operation(
    candidates: Callable[[models.Model], Iterable[Any]] | None = None,
    reads: bool = False,
    first: bool = False,
) -> Callable[[Callable[..., Operation]], Callable[..., None]]:
    """Make a rule of a method, which draws values, yields, and then acts.

    After ``yield``, it may run in parallel with another operation.

    :param candidates: what the operation is about; one is drawn
    :param reads: whether it does not change that: two such operations may use
        the same resource in parallel
    """

    def decorate(method: Callable[..., Operation]) -> Callable[..., None]:
        def is_possible(self: Machine) -> bool:
            return candidates is None or bool(
                self.free(candidates(self.model), reads)
            )

        def step(self: Machine, rng: random.Random) -> None:
            # Before anything else: the simplest sequence ends here.
            is_beside = rng.random() < _BESIDE
            self.start(method.__name__)
            drawn = []
            if candidates is not None:
                free = self.free(candidates(self.model), reads)
                drawn.append(self.use(rng.choice(free), reads))
            self.take(method(self, rng, *drawn), is_beside)

        step.__name__ = step.__qualname__ = method.__name__
        rng = strategies.randoms(use_true_random=False)
        if first:
            return stateful.initialize(rng=rng)(step)
        return stateful.precondition(is_possible)(stateful.rule(rng=rng)(step))

    return decorate


class Machine(stateful.RuleBasedStateMachine):
    """One sequence; mix-ins have the operations.

    :ivar failure: what was found; empty if nothing was
    """

    def __init__(
        self, setting: Setting, told: list[str], is_trivial: bool
    ) -> None:
        super().__init__()
        self.model = models.Model()
        self.failure = ''
        self.told = told
        self.operations: list[str] = []
        self.callers = setting.callers
        self.admin = setting.callers['admin']
        self.cluster = setting.cluster
        self.prefix = setting.prefix
        self.image = setting.image
        self.lost_reservations = setting.lost_reservations
        self._ended = setting.ended
        self._is_trivial = is_trivial
        self._pending: list[Operation] = []
        self._changed: set[str] = set()
        self._read: set[str] = set()
        self._idents: set[str] = set()

    # Operations

    def start(self, name: str) -> None:
        """Begin an operation; skip the first sequence, which is minimal."""
        if self._is_trivial:
            hypothesis.reject()
        self.operations.append(name)
        self.tell(f'{len(self.operations)}: {name}')

    def free(self, entries: Iterable[T], reads: bool = False) -> list[T]:
        """Return the resources that no operation uses at present."""
        used = self._changed if reads else self._changed | self._read
        return [each for each in entries if not models.about(each) & used]

    def use(self, entry: T, reads: bool = False) -> T:
        """Use a resource in the present operation, and return it."""
        used = self._read if reads else self._changed
        used |= models.about(entry)
        return entry

    def name(self, letter: str) -> str:
        """Return the name of a new resource."""
        name = f'{letter}{len(self.operations)}'
        self._changed.add(name)
        return name

    def take(self, drawn: Operation, beside: bool) -> None:
        """Run an operation, or run it in parallel with the next one."""
        if next(drawn, self) is not self:
            self._pending.append(drawn)
        if not beside or len(self._pending) > 1:
            self._finish()

    def _finish(self) -> None:
        pending, self._pending = self._pending, []
        if not pending or self._ended.is_set():
            return
        try:
            with futures.ThreadPoolExecutor(len(pending)) as pool:
                list(pool.map(lambda each: next(each, None), pending))
            used = self._changed | self._read
            if len(self.operations) % _ALL_READ == 0:
                used |= self.model.volumes.keys()
            self._idents |= {v.ident for v in self.model.volumes.values()}
            self._idents |= {i.ident for i in self.model.images.values()}
            self.check(used)
        except Exception as error:
            self._fail(error)
            raise
        finally:
            self._changed, self._read = set(), set()

    def _fail(self, error: Exception) -> None:
        self.failure = self.failure or f'{type(error).__name__}: {error}'
        self.tell(self.failure)

    def teardown(self) -> None:
        """Delete everything, and check that nothing is left."""
        if not self.operations:
            return
        try:
            if not self.failure:
                self._finish()
                self.tell('end: delete all')
                self.delete_all()
                self.check_left(self._idents)
        except Exception as error:
            self._fail(error)
            raise
        finally:
            if self.failure:
                self.purge()

    def check(self, used: set[str]) -> None:
        """Check all conditions, after operations on these resources."""
        raise NotImplementedError

    def delete_all(self) -> None:
        """Delete all resources as their owners."""
        raise NotImplementedError

    def check_left(self, idents: set[str]) -> None:
        """Check that nothing is left of resources with these IDs."""
        raise NotImplementedError

    def purge(self) -> None:
        """Remove what a failed sequence left."""
        raise NotImplementedError

    # Verdicts

    def tell(self, line: str) -> None:
        """Add a line to what is shown of a failed sequence."""
        self.told.append(line)

    def judge(
        self, answer: cloud.Answer, expected: Verdict, what: str
    ) -> bool:
        """Check that the response to a request is the expected one.

        :returns: whether the request was accepted
        """
        told = f'{what}: {answer.status} {answer.reason}'
        refused = expected is Verdict.ACCEPTED and not answer.accepted
        cloud.require(not refused, f'valid request refused: {told}')
        accepted = expected is Verdict.REFUSED and answer.accepted
        cloud.require(not accepted, f'invalid request accepted: {told}')
        return answer.accepted

    # State

    def type_name(self, kind: kinds.Kind) -> str:
        """Return the name of a type in Cinder."""
        return f'{self.prefix}-{kind.name}'

    def kind(self, type_name: str) -> kinds.Kind:
        """Return a type by its name in Cinder."""
        return kinds.by_name()[type_name.removeprefix(f'{self.prefix}-')]

    def show(self, volume: str) -> Record | None:
        """Return a volume as an administrator sees it, or None."""
        answer = self.admin.get(f'/volumes/{volume}')
        if answer.status == 404:
            return None
        record: Record = answer.body['volume']
        return record

    def state(self, volume: models.Volume) -> states.State | None:
        """Return the state of a volume's image, or None if there is none."""
        if not volume.backend:
            return None
        pool, image = volume.backend.pool, volume.image
        state: states.State | None = self.cluster.state(pool, image)
        return state

    def settle(self, volume: models.Volume) -> Record:
        """Wait until a volume is idle and update the model."""
        record: Record = self.until(
            lambda: self.outcome(volume.ident, volume.host),
            f'{volume.name} to settle',
        )
        status = record['status']
        volume.status = status if status in _FINAL else 'error'
        volume.host = record['os-vol-host-attr:host'] or ''
        name_id = record.get('os-vol-mig-status-attr:name_id')
        volume.name_id = name_id or ''
        cloud.require(status in _FINAL, f'{volume.name} is {status}')
        return record

    def outcome(self, ident: str, host: str = '') -> Record | None:
        """Return a volume if it is idle, otherwise None.

        :param host: the former host, if the volume may migrate
        """
        record = self.show(ident)
        if record is None:
            raise AssertionError(f'{ident} is gone')
        migration = record.get('migration_status')
        if migration in _MOVING:
            return None
        if host not in ('', record['os-vol-host-attr:host']) and not migration:
            # Cinder sets host and status first and 'success' afterwards.
            return None
        done = record['status'] in _FINAL or 'error' in record['status']
        return record if done else None

    def settle_other(self, path: str) -> None:
        """Wait until a snapshot or backup is created."""

        def done() -> str | None:
            answer = self.admin.get(path)
            if answer.status == 404:
                return 'gone'
            (record,) = answer.body.values()
            final = record['status'] == 'available'
            is_final = final or 'error' in record['status']
            return str(record['status']) if is_final else None

        status = self.until(done, f'{path} to settle')
        cloud.require(status == 'available', f'{path} is {status}')

    def await_gone(self, path: str, service: str = 'block_storage') -> None:
        """Wait for a deletion."""

        def done() -> str | None:
            answer = self.admin.get(path, service)
            if answer.status == 404:
                return 'gone'
            (record,) = answer.body.values() if len(answer.body) == 1 else [{}]
            status = str(record.get('status', ''))
            # The failed deletion of a busy volume makes it available again.
            final = status.startswith('error') or status == 'available'
            return status if final else None

        outcome = self.until(done, f'{path} to be deleted')
        cloud.require(outcome == 'gone', f'{path} is {outcome}')

    def until(self, done: Callable[[], Any], what: str) -> Any:
        """Wait until a function returns a true value; return the value."""
        deadline = time.monotonic() + _PATIENCE
        pause = 0.1
        while time.monotonic() < deadline:
            if result := done():
                return result
            time.sleep(pause)
            pause = min(1.0, pause * 1.3)
        raise AssertionError(f'stuck: waited {_PATIENCE} s for {what}')
