# SPDX-License-Identifier: Apache-2.0

"""The environment of a sequence: callers, the model and waiting."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import time
from typing import Any
from typing import TYPE_CHECKING

from tests.life import cloud
from tests.life import failures
from tests.life import kinds
from tests.life import metadata
from tests.life import model as models
from tests.life import state as states

if TYPE_CHECKING:
    # It imports librbd's bindings, which tests of the rules do not have.
    from tests.life import ceph_process

Verdict = metadata.Verdict
Record = dict[str, Any]

#: Seconds; enough for a busy machine with two processors.
_PATIENCE = 150
_FINAL = ('available', 'in-use', 'reserved', 'attaching', 'awaiting-transfer')
_MOVING = ('starting', 'migrating', 'completing')


@dataclasses.dataclass
class World:
    """The environment of one sequence.

    :ivar known: kinds of violations that do not end the sequence
    :ivar found: violations of these kinds that were found
    :ivar lost_reservations: IDs of open reservations that Cinder is known to
        lose, including those of earlier sequences with the same tenants
    """

    callers: Mapping[str, cloud.Caller]
    cluster: ceph_process.Cluster
    prefix: str
    image: models.Image
    tell: Callable[[str], None]
    known: frozenset[str] = frozenset()
    found: list[failures.Violation] = dataclasses.field(default_factory=list)
    model: models.Model = dataclasses.field(default_factory=models.Model)
    lost_reservations: set[str] = dataclasses.field(default_factory=set)

    @property
    def admin(self) -> cloud.Caller:
        """The administrator."""
        return self.callers['admin']

    def type_name(self, kind: kinds.Kind) -> str:
        """Return the name of a type in Cinder."""
        return f'{self.prefix}-{kind.name}'

    def kind(self, type_name: str) -> kinds.Kind:
        """Return a type by its name in Cinder."""
        return kinds.by_name()[type_name.removeprefix(f'{self.prefix}-')]

    # Verdicts

    def violate(self, kind: str, text: str) -> None:
        """Record a violation; end the sequence unless its kind is known.

        :raises Violation: if the kind is not known
        """
        violation = failures.Violation(kind, text)
        if any(each.text == text for each in self.found):
            return
        self.tell(f'VIOLATION {violation}')
        if not self.known & {kind, 'all'}:
            raise violation
        self.found.append(violation)

    def judge(
        self, answer: cloud.Answer, expected: Verdict, what: str
    ) -> bool:
        """Check that the response to a request is the expected one.

        :returns: whether the request was accepted
        """
        if expected is Verdict.ACCEPTED and not answer.accepted:
            self.violate(
                'valid-refused', f'{what}: {answer.status} {answer.reason}'
            )
        if expected is Verdict.REFUSED and answer.accepted:
            self.violate('invalid-accepted', what)
        return answer.accepted

    # State

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
        return self.cluster.state(volume.backend.pool, volume.image)

    def settle(self, volume: models.Volume) -> Record:
        """Wait until a volume is idle and update the model."""
        record: Record = self.until(
            lambda: self._settled(volume.ident, volume.host),
            f'{volume.name} to settle',
        )
        status = record['status']
        volume.status = status
        volume.host = record['os-vol-host-attr:host'] or ''
        name_id = record.get('os-vol-mig-status-attr:name_id')
        volume.name_id = name_id or ''
        if status not in _FINAL:
            volume.status = 'error'
            self.violate('error-status', f'{volume.name} is {status}')
        return record

    def _settled(self, ident: str, host: str = '') -> Record | None:
        record = self.show(ident)
        if record is None:
            raise failures.Violation('vanished', f'{ident} is gone')
        migration = record.get('migration_status')
        if migration in _MOVING:
            return None
        if host not in ('', record['os-vol-host-attr:host']) and not migration:
            # Cinder sets host and status first and 'success' afterwards.
            return None
        done = record['status'] in _FINAL or 'error' in record['status']
        return record if done else None

    def outcome(self, ident: str) -> Record | None:
        """Return a volume if it is idle, otherwise None."""
        return self._settled(ident)

    def settle_other(self, path: str) -> Record:
        """Wait until a snapshot or backup is created or has failed."""

        def done() -> Record | None:
            answer = self.admin.get(path)
            if answer.status == 404:
                return {'status': 'gone'}
            (record,) = answer.body.values()
            final = record['status'] == 'available'
            return record if final or 'error' in record['status'] else None

        record: Record = self.until(done, f'{path} to settle')
        if record['status'] != 'available':
            self.violate('error-status', f'{path} is {record["status"]}')
        return record

    def gone(self, path: str, service: str = 'block_storage') -> bool:
        """Wait for a deletion and return whether it succeeded."""

        def done() -> str | None:
            answer = self.admin.get(path, service)
            if answer.status == 404:
                return 'gone'
            (record,) = answer.body.values() if len(answer.body) == 1 else [{}]
            if record.get('status', '').startswith('error'):
                return str(record['status'])
            # The failed deletion of a busy volume makes it available again.
            if record.get('status') == 'available':
                return 'available'
            return None

        outcome = self.until(done, f'{path} to be deleted')
        if outcome != 'gone':
            self.violate('not-deleted', f'{path} is {outcome}')
        return bool(outcome == 'gone')

    def until(self, done: Callable[[], Any], what: str) -> Any:
        """Wait until a function returns a true value; return the value."""
        deadline = time.monotonic() + _PATIENCE
        pause = 0.1
        while time.monotonic() < deadline:
            if result := done():
                return result
            time.sleep(pause)
            pause = min(1.0, pause * 1.3)
        raise failures.Violation('stuck', f'waited {_PATIENCE} s for {what}')
