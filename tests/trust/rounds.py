# SPDX-License-Identifier: Apache-2.0

"""Rounds: operations of both drivers, a fault, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import functools
import json
import os
import random
import re
import subprocess
import time
from typing import Any
import uuid

from sandbox_cloud import state
from tests.cloud import clustered
from tests.life import ceph_process
from tests.life import cloud
from tests.life import purge
from tests.trust import faults
from tests.trust import operations
from tests.trust import report
from tests.trust import side as sides
from tests.trust import usage

Outcome = operations.Outcome
Record = dict[str, Any]

# Seconds, after the fault and the recovery, for a status to change.
_GRACE = 75.0
_RECOVERY = 150.0
# Seconds until a volume is requested again: RabbitMQ loses requests.
_REQUEST_AGAIN = 20.0
_DELETED = 60.0
_UNCHANGED = 15.0
# The longest time to wait for changes in a pool.
_CHANGES = 8.0
_AUDITED = 600
# The pauses of an owner who tries again.
_PAUSE = 0.5
#: The rows in the table of rounds with more than one fault, and with none.
SEVERAL = 'several'
NONE = 'none'
_IDENT = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_OBJECT = re.compile(r'(?:rbd_\w+\.|id_)(?:\d+\.)?([0-9a-f]{10,})')
_RESET = {
    'status': 'error',
    'attach_status': 'detached',
    'migration_status': 'none',
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """The parameters of a run.

    :ivar minutes: time after which no round starts
    :ivar only: the numbers of the only rounds to run
    :ivar operations: the operations to draw from
    :ivar load: operations of each driver at a time
    :ivar targets: kinds of faults to draw, with the targets of each
    :ivar faults: faults in a round, one after the other; 0 for a run that
        shows the growth of the services
    """

    seed: int
    minutes: float
    load: int
    targets: Mapping[str, Sequence[str]]
    only: tuple[int, ...] = ()
    operations: tuple[operations.Operation, ...] = operations.FAIR
    faults: int = 1


class Rounds:
    """A run of rounds on a sandbox."""

    def __init__(
        self,
        plan: Plan,
        show: Callable[[str], None],
        services: Sequence[clustered.Service] = (),
    ) -> None:
        self.plan = plan
        self.report = report.Report()
        self.growth = usage.Growth()
        self.broken = 0
        self._ended = False
        self._show = show
        self._place = state.State(state.default_root())
        self._injector = faults.Injector(self._place, services)
        self._drivers = sides.DRIVERS
        if services:
            self._drivers = (sides.CLUSTERED, *sides.DRIVERS[1:])
        self._cluster = ceph_process.Cluster(os.environ['CEPH_CONF'], show)
        self._admin = cloud.Caller(
            'admin', cloud.administrator(), lambda _: None
        )
        self._tenants = cloud.Tenants(self._admin.connection)
        self._prefix = f'{purge.PREFIX}{uuid.uuid4().hex[:6]}'
        self._sides: list[sides.Side] = []
        self._known: dict[str, str] = {}
        self._leaked: dict[str, set[str]] = {}
        self._before: set[str] = set()

    def run(self) -> None:
        """Run rounds until the time is up, then remove everything."""
        purge.killed_runs(self._admin, self._cluster)
        empty = self._cluster.everything()
        numbers: Iterable[int] = self.plan.only or range(1, 10**6)
        types: list[str] = []
        try:
            types = self._prepare()
            deadline = time.monotonic() + self.plan.minutes * 60
            for number in numbers:
                if self._ended or time.monotonic() > deadline:
                    break
                self._round(number)
                self._measure()
        finally:
            for side in self._sides:
                side.servers.remove()
                self._clean(side, 'the end', keep=())
            for ident in types:
                self._admin.respond('DELETE', f'/types/{ident}')
            self._tenants.remove()
        self._before = empty.union(*self._leaked.values())
        self._find_leaked('the end')
        self._audit()
        self._cluster.close()

    def end(self) -> None:
        """Start no further round."""
        self._ended = True

    def _prepare(self) -> list[str]:
        types = []
        if self._drivers[0] is sides.CLUSTERED:
            self._join()
        for driver in self._drivers:
            connection = self._tenants.make(f'{self._prefix}-{driver.name}')
            owner = cloud.Caller(driver.name, connection, lambda _: None)
            side = sides.Side(
                driver, self._prefix, owner, self._admin, self._cluster
            )
            for which, specs in driver.types.items():
                body = {'name': side.type_name(which), 'extra_specs': specs}
                answer = self._admin.respond(
                    'POST', '/types', {'volume_type': body}
                )
                types.append(answer.body['volume_type']['id'])
            self._sides.append(side)
        for side in self._sides:
            side.prepare(random.Random(f'{self.plan.seed} base'))
        self._before = self._cluster.everything()
        return types

    def _join(self) -> None:
        """Wait until both services of the cluster are up, and use them."""
        self._until(
            lambda: _is_up(self._admin.get(f'/clusters/{clustered.CLUSTER}'))
        )
        body = {'name': clustered.CLUSTER}
        self._admin.respond('PUT', '/clusters/enable', body)
        self._until(
            lambda: (
                clustered.POOL
                in self._admin.get('/scheduler-stats/get_pools').text
            )
        )

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _RECOVERY
        while not condition() and time.monotonic() < deadline:
            time.sleep(_PAUSE)

    def _measure(self) -> None:
        # After a fault, a program may not run at all.
        if not self.plan.faults:
            injector = self._injector
            figures = usage.measured(
                injector.supervisor, injector.cluster.ceph
            )
            self.growth.add(figures)

    # One round

    def _round(self, number: int) -> None:
        seed = f'{self.plan.seed} {number}'
        rng = random.Random(seed)
        first = faults.drawn(rng, self.plan.targets)
        chosen = rng.choices(self.plan.operations, k=self.plan.load)
        injected = [first] + [
            faults.drawn(rng, self.plan.targets)
            for _ in range(1, self.plan.faults)
        ]
        del injected[self.plan.faults :]
        row = SEVERAL
        if len(injected) < 2:
            row = first.name if injected else NONE
        began = time.monotonic()
        with futures.ThreadPoolExecutor(2 * self.plan.load + 2) as pool:
            try:
                runs = list(
                    pool.map(
                        lambda each: operations.Run.prepared(*each),
                        [
                            (side, operation, f'{number}-{place}', seed)
                            for side in self._sides
                            for place, operation in enumerate(chosen)
                        ],
                    )
                )
            except Exception as error:
                self._broken(number, error)
                return
            self._inject(injected, runs, pool)
            if injected and self._injector.cluster.peer():
                self._show(f'  round {number}: laggy until peered again')
            recovery = dict(
                pool.map(lambda s: (s.name, self._recover(s)), self._sides)
            )
            self._settle(runs, pool)
            list(pool.map(self._check, runs))
        told = f'round {number}, ' + ('; '.join(map(str, injected)) or NONE)
        for side in self._sides:
            mine = [run for run in runs if run.side is side]
            resets = self._leave(mine)
            resets += self._clean(side, told, keep=self._kept(side))
            self.report.add(
                row,
                side.name,
                faults=len(injected),
                operations=len(mine),
                resets=resets,
                wrong=sum(bool(run.wrong) for run in mine),
                recovery=[recovery[side.name]],
                **{
                    each.value: sum(run.outcome is each for run in mine)
                    for each in Outcome
                },
            )
        self._find_leaked(told, row)
        self._show(
            f'  {told}: {time.monotonic() - began:.0f} s, recovery '
            + ', '.join(f'{name} {s:.1f}' for name, s in recovery.items())
        )
        for run in runs:
            if run.outcome is not Outcome.OK or run.wrong:
                self._show(
                    f'    {run.side.name} {run.operation.name}: '
                    f'{run.outcome.value if run.outcome else "-"} '
                    f'({run.told}) {run.wrong}'
                )

    def _broken(self, number: int, error: Exception) -> None:
        self.broken += 1
        self._show(f'  round {number} could not start: {error!r}')
        for side in self._sides:
            side.servers.remove()
            self._clean(side, f'round {number}', keep=self._kept(side))

    def _inject(
        self,
        injected: Sequence[faults.Fault],
        runs: list[operations.Run],
        pool: futures.Executor,
    ) -> None:
        if injected and injected[0].delay < 0:
            fault, *injected = injected
            injecting = pool.submit(self._injector.inject, fault)
            time.sleep(-fault.delay)
            started = [pool.submit(run.start) for run in runs]
            injecting.result()
        else:
            started = [pool.submit(run.start) for run in runs]
        for each in injected:
            self._wait(each)
            self._injector.inject(each)
        futures.wait(started)

    def _wait(self, fault: faults.Fault) -> None:
        """Wait until the time of a fault."""
        pool = self._sides[fault.side].driver.pool
        deadline = time.monotonic() + _CHANGES
        if not fault.changes:
            time.sleep(abs(fault.delay))
            return
        names, changes = self._cluster.names(pool), 0
        while changes < fault.changes and time.monotonic() < deadline:
            now = self._cluster.names(pool)
            changes += now != names
            names = now

    def _recover(self, side: sides.Side) -> float:
        """Return the seconds until a volume can be created again."""
        began = time.monotonic()
        while time.monotonic() < began + _RECOVERY:
            requested = time.monotonic()
            body = {
                'name': 'probe',
                'size': 1,
                'volume_type': side.type_name(),
            }
            answer = side.ask('POST', '/volumes', {'volume': body})
            status = ''
            if answer.status == 202:
                ident = answer.body['volume']['id']
                while (
                    status in ('', 'creating')
                    and time.monotonic() < requested + _REQUEST_AGAIN
                ):
                    time.sleep(0.1)
                    try:
                        status = (side.show('volumes', ident) or {}).get(
                            'status', 'gone'
                        )
                    except ConnectionError:
                        continue
                if status == 'available':
                    break
            time.sleep(_PAUSE)
        return time.monotonic() - began

    def _settle(
        self, runs: list[operations.Run], pool: futures.Executor
    ) -> None:
        """Wait until the outcome of each operation is known."""

        def one(run: operations.Run) -> None:
            deadline = time.monotonic() + _GRACE
            while time.monotonic() < deadline:
                try:
                    if run.look():
                        return
                except ConnectionError:
                    pass
                time.sleep(_PAUSE)
            run.outcome = Outcome.HUNG

        list(pool.map(one, runs))

    def _check(self, run: operations.Run) -> None:
        try:
            run.check()
        except Exception as error:
            run.wrong = f'cannot be read: {error!r}'

    # Afterwards

    def _leave(self, runs: list[operations.Run]) -> int:
        """Take the volumes from the servers; return the resets it needed."""
        mine = [run for run in runs if run.operation.server]
        with futures.ThreadPoolExecutor(len(runs)) as pool:
            left = pool.map(lambda r: r.side.servers.leave(r.volume), mine)
            resets = 0
            for run, (count, told) in zip(mine, left, strict=True):
                resets += count
                if told:
                    self._show(f'    {run.side.name}: {told}')
        return resets

    def _kept(self, side: sides.Side) -> tuple[str, ...]:
        return (side.base.ident, side.base.snapshot, side.backup, side.image)

    def _clean(self, side: sides.Side, told: str, keep: Iterable[str]) -> int:
        """Delete everything as the owner; return the resets it needed."""
        resets = 0
        # A snapshot of a volume that reverts can only be deleted after that.
        for kind in (*sides.KINDS, 'snapshots', 'volumes'):
            left = [
                each
                for each in side.until(
                    functools.partial(self._listed, side, kind), kind
                )
                if each['id'] not in {*keep, ''}
            ]
            for each in left:
                self._known[each['id']] = side.name
            if not left:
                continue
            with futures.ThreadPoolExecutor(4) as pool:
                delete = functools.partial(self._delete, side, kind, told)
                resets += sum(pool.map(delete, [each['id'] for each in left]))
        return resets

    def _listed(self, side: sides.Side, kind: str) -> list[Record]:
        # Never empty: this is a condition to wait for.
        return [*side.listed(kind), {'id': ''}]

    def _delete(
        self, side: sides.Side, kind: str, told: str, ident: str
    ) -> int:
        """Delete a resource; return whether this needed the administrator."""
        service = 'image' if kind == 'images' else 'block_storage'
        path = f'/{kind}/{ident}'
        status = ''
        for resets in (0, 1):
            began = time.monotonic()
            while time.monotonic() < began + (
                _DELETED if status in ('', 'deleting') else _UNCHANGED
            ):
                try:
                    record = side.show(kind, ident)
                except ConnectionError:
                    time.sleep(_PAUSE)
                    continue
                if record is None:
                    return resets
                if record['status'] != status:
                    status, began = record['status'], time.monotonic()
                for each in record.get('attachments', ()):
                    side.ask('DELETE', f'/attachments/{each["attachment_id"]}')
                if status in ('attaching', 'reserved'):
                    self._detach(side, ident)
                if status != 'deleting':
                    side.ask('DELETE', path, service=service)
                time.sleep(_PAUSE)
            if kind == 'images' or resets:
                break
            self._show(f'    {side.name}: {path} needs a reset: {status}')
            body = {'os-reset_status': _RESET}
            if kind != 'volumes':
                body = {'os-reset_status': {'status': 'error'}}
            self._admin.respond('POST', f'{path}/action', body)
        self._show(f'    {side.name}: {path} stays: {status} ({told})')
        return 1

    def _detach(self, side: sides.Side, volume: str) -> None:
        answer = side.ask('GET', f'/attachments?volume_id={volume}')
        for each in answer.body.get('attachments', ()):
            side.ask('DELETE', f'/attachments/{each["id"]}')

    def _find_leaked(self, told: str, fault: str = 'the end') -> None:
        """Count what no record explains, once."""
        deadline = time.monotonic() + 20
        while True:
            self._cluster.purge_trash('images')
            objects = self._cluster.everything()
            left = objects - self._before
            if not left or time.monotonic() > deadline:
                break
            time.sleep(1)
        self._before |= left
        for name in ('ours', 'stock', 'unknown'):
            mine = {e for e in left if self._side_of(e, left) == name}
            if not mine:
                continue
            images = {
                match[1] for each in mine if (match := _OBJECT.search(each))
            }
            self._leaked.setdefault(name, set()).update(mine)
            self.report.add(fault, name, leaked=max(1, len(images)))
            self._show(
                f'    {name} leaked, {told}: {len(images)} images, '
                f'{sorted(mine)[:8]}'
            )

    def _side_of(self, entry: str, left: set[str]) -> str:
        """Return the side of a leaked entry."""
        pool = entry.partition('/')[0]
        if pool in ('volumes', 'volumes-data'):
            return 'ours'
        # Objects do not name the volume; other entries of the image may.
        for each in (entry, *(e for e in left if e.startswith(f'{pool}/'))):
            for ident in _IDENT.findall(each):
                if ident in self._known:
                    return self._known[ident]
        return 'stock' if pool == 'volumes2' else 'unknown'

    def _audit(self) -> None:
        """Show which leaked images the audit names."""
        program = self._place.venv(self._place.release or '') / 'bin'
        command = [str(program / 'cinder-rbd-ext'), '--os-cloud', 'admin']
        command += ['audit', '--ceph-user', 'admin', '-f', 'json']
        done = subprocess.run(
            ['timeout', '--kill-after=9', str(_AUDITED), *command],
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            findings = [
                (row['Kind'], str(row)) for row in json.loads(done.stdout)
            ]
        except ValueError:
            self._show(f'  the audit failed: {done.stderr[-500:]}')
            return
        for name, entries in self._leaked.items():
            # An entry has the ID of a volume, or of an image alone.
            idents = {
                ident
                for each in entries
                for ident in _IDENT.findall(each) or _OBJECT.findall(each)
            }
            for ident in sorted(idents):
                kinds = [kind for kind, text in findings if ident in text]
                self._show(f'  {name}: {ident}: audit says {kinds}')


def _is_up(answer: cloud.Answer) -> bool:
    cluster = answer.body.get('cluster', {})
    return bool(
        cluster and (cluster['num_hosts'], cluster['num_down_hosts']) == (2, 0)
    )
