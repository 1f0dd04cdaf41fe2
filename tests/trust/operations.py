# SPDX-License-Identifier: Apache-2.0

"""What tenants do while a fault is injected.

An operation starts from a volume of its own, so that what became of it can be
told from its state alone: done, failed with an error that its owner sees, or
neither.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import enum
import functools
import random
from typing import Literal
import uuid

from tests.life import cloud
from tests.life import content as contents
from tests.trust import servers
from tests.trust import side as sides

Content = contents.Content
Record = sides.Record
Side = sides.Side
Request = tuple[str, str, Record | None]

_CONNECTOR = {
    'host': 'trust-compute',
    'initiator': 'iqn.2026-11.trust',
    'ip': '127.0.0.1',
    'multipath': False,
    'os_type': 'linux',
    'platform': 'x86_64',
}

#: Statuses that change again, besides those that end in "ing".
_MOVING = ('backing-up', 'restoring-backup', 'queued')


class Outcome(enum.Enum):
    """What became of an operation."""

    OK = 'ok'
    #: Its owner sees an error and can go on without an administrator.
    ERROR = 'error'
    #: The answer was lost, and the operation had no effect.
    INTERRUPTED = 'interrupted'
    #: No answer, or a status that does not change any more.
    HUNG = 'hung'


@dataclasses.dataclass(frozen=True)
class Operation:
    """A kind of operation.

    :ivar request: returns the request for a volume, with the name of what is
        created
    :ivar watched: the kind of resource that shows the result
    :ivar creates: whether this is another resource than the volume
    :ivar is_done: whether a settled resource shows success; None if it has to
        be gone
    :ivar snapshot: whether the volume needs a snapshot
    :ivar server: whether the operation needs a server, with the volume or
        without it
    :ivar as_admin: whether only an administrator may request it
    :ivar own: whether the operation needs a volume of its own
    :ivar fair: whether both drivers do the same work
    :ivar after: the content of the volume, or of the created one, afterwards,
        from the contents of the volume and of the base
    """

    name: str
    request: Callable[[Side, sides.Volume, str], Request]
    watched: str = 'volumes'
    creates: bool = False
    is_done: Callable[[Side, Record], bool] | None = lambda *_: True
    snapshot: bool = False
    server: Literal['', 'with', 'without'] = ''
    as_admin: bool = False
    own: bool = True
    fair: bool = True
    after: Callable[[Content, Content], Content] = lambda own, _: own


def _create(**source: str) -> Callable[[Side, sides.Volume, str], Request]:
    def request(side: Side, volume: sides.Volume, name: str) -> Request:
        values = {
            'volume': side.base.ident,
            'snapshot': side.base.snapshot,
            'backup': side.backup,
            'image': side.image,
        }
        body = {key: values[value] for key, value in source.items()}
        usual = {'name': name, 'size': 1, 'volume_type': side.type_name()}
        return 'POST', '/volumes', {'volume': {**usual, **body}}

    return request


def _action(name: str, **values: object) -> Callable[..., Request]:
    def request(side: Side, volume: sides.Volume, _: str) -> Request:
        body = dict(values)
        if 'new_type' in body:
            body['new_type'] = side.type_name(str(body['new_type']))
        if 'snapshot_id' in body:
            body['snapshot_id'] = volume.snapshot
        return 'POST', f'/volumes/{volume.ident}/action', {name: body}

    return request


def _upload(side: Side, volume: sides.Volume, name: str) -> Request:
    return 'POST', f'/volumes/{volume.ident}/action', side.upload(name)


def _backup(side: Side, volume: sides.Volume, name: str) -> Request:
    body = {'volume_id': volume.ident, 'name': name}
    return 'POST', '/backups', {'backup': body}


def _snapshot(side: Side, volume: sides.Volume, name: str) -> Request:
    body = {'volume_id': volume.ident, 'name': name}
    return 'POST', '/snapshots', {'snapshot': body}


def _restore(side: Side, volume: sides.Volume, _: str) -> Request:
    body = {'restore': {'volume_id': volume.ident}}
    return 'POST', f'/backups/{side.backup}/restore', body


def _attach(side: Side, volume: sides.Volume, _: str) -> Request:
    body = {
        'volume_uuid': volume.ident,
        'instance_uuid': str(uuid.uuid4()),
        'connector': _CONNECTOR,
    }
    return 'POST', '/attachments', {'attachment': body}


def _attach_to_server(side: Side, volume: sides.Volume, _: str) -> Request:
    return 'POST', *servers.attachment(volume)


def _detach_from_server(side: Side, volume: sides.Volume, _: str) -> Request:
    return 'DELETE', f'{servers.attachment(volume)[0]}/{volume.ident}', None


def _migrate_live(side: Side, volume: sides.Volume, _: str) -> Request:
    body = {'os-migrateLive': {'host': None, 'block_migration': 'auto'}}
    return 'POST', f'/servers/{volume.server}/action', body


def _of_base(_: Content, base: Content) -> Content:
    return base


def _is(which: str) -> Callable[[Side, Record], bool]:
    """Return a function that returns whether a volume has a type."""
    return lambda side, record: bool(
        record['volume_type'] == side.type_name(which)
    )


_creation = functools.partial(Operation, creates=True, own=False)
# Only the option --servers draws them.
_with_server = functools.partial(
    Operation,
    is_done=lambda _, record: bool(record['status'] == 'in-use'),
    server='with',
    fair=False,
)
OPERATIONS = (
    _creation('create', _create(), after=lambda *_: {}),
    _creation(
        'create from image',
        _create(imageRef='image'),
        after=_of_base,
    ),
    _creation(
        'create from snapshot',
        _create(snapshot_id='snapshot'),
        after=_of_base,
    ),
    _creation('clone', _create(source_volid='volume'), after=_of_base),
    _creation(
        'create from backup',
        _create(backup_id='backup'),
        after=_of_base,
    ),
    Operation('snapshot', _snapshot, 'snapshots', creates=True),
    Operation(
        'delete snapshot',
        lambda side, volume, _: (
            'DELETE',
            f'/snapshots/{volume.snapshot}',
            None,
        ),
        'snapshots',
        is_done=None,
        snapshot=True,
    ),
    Operation(
        'extend',
        _action('os-extend', new_size=2),
        is_done=lambda _, record: bool(record['size'] == 2),
    ),
    Operation(
        'retype',
        _action('os-retype', new_type='in-place', migration_policy='never'),
        is_done=_is('in-place'),
    ),
    Operation(
        'retype with a snapshot',
        _action('os-retype', new_type='in-place', migration_policy='never'),
        is_done=_is('in-place'),
        snapshot=True,
    ),
    Operation(
        'retype with a copy',
        _action('os-retype', new_type='copied', migration_policy='on-demand'),
        is_done=_is('copied'),
        fair=False,
    ),
    Operation('revert', _action('revert', snapshot_id=''), snapshot=True),
    Operation(
        'delete',
        lambda side, volume, _: ('DELETE', f'/volumes/{volume.ident}', None),
        is_done=None,
    ),
    Operation('upload', _upload, 'images', creates=True),
    Operation('backup', _backup, 'backups', creates=True),
    Operation('restore', _restore, after=_of_base),
    Operation(
        'attach',
        _attach,
        is_done=lambda _, record: bool(record['status'] != 'available'),
    ),
    _with_server('attach to a server', _attach_to_server, server='without'),
    _with_server(
        'detach from a server',
        _detach_from_server,
        is_done=lambda _, record: bool(record['status'] == 'available'),
    ),
    _with_server('live migration', _migrate_live, as_admin=True),
)
#: The operations that are drawn by default.
FAIR = tuple(each for each in OPERATIONS if each.fair)
#: Those with servers.
OF_SERVERS = tuple(each for each in OPERATIONS if each.server)


@dataclasses.dataclass
class Run:
    """An operation of one side in a round."""

    side: Side
    operation: Operation
    name: str
    volume: sides.Volume
    answer: cloud.Answer | None = None
    outcome: Outcome | None = None
    #: What the owner or the audit would call wrong.
    wrong: str = ''
    told: str = ''
    #: The host of the server before.
    host: str = ''

    @classmethod
    def prepared(
        cls, side: Side, operation: Operation, name: str, seed: str
    ) -> Run:
        """Create the volume that an operation needs."""
        volume, server, host = side.base, '', ''
        if operation.own:
            if operation.server:
                server = side.servers.get(name.rpartition('-')[2])
                host = side.servers.host(server)
            volume = side.filled(name, random.Random(seed), server)
            if operation.server == 'with':
                side.servers.attach(volume)
            if operation.snapshot:
                side.add_snapshot(volume, name)
        return cls(side, operation, name, volume, host=host)

    def start(self) -> None:
        """Send the request."""
        request = self.operation.request(self.side, self.volume, self.name)
        self.answer = self.side.ask(*request, as_admin=self.operation.as_admin)

    @property
    def _is_lost(self) -> bool:
        """Whether the owner does not know if the request was accepted."""
        return self.answer is None or self.answer.status <= 0

    def _record(self) -> Record | None:
        """Return the resource that shows the result."""
        kind = self.operation.watched
        if not self.operation.creates:
            ident = self.volume.ident
            if kind == 'snapshots':
                ident = self.volume.snapshot
            return self.side.show(kind, ident)
        # The answer may be lost: an owner looks for the name.
        for record in self.side.listed(kind):
            if record['name'] == self.name:
                return record
        return None

    def look(self) -> bool:
        """Set the outcome if it can be told; return whether it can."""
        record = self._record()
        answer = self.answer
        refused = answer is not None and answer.status >= 400
        lost = self._is_lost
        status = record['status'] if record else 'gone'
        self.told = status
        if answer is not None:
            reason = answer.reason or answer.text if refused or lost else ''
            self.told = f'{answer.status}, {status}, {reason[:120]!r}'
        done = self.operation.is_done
        if self._is_moving(status) or not self._volume_is_idle():
            return False
        if status.startswith('error') or status in ('killed', 'deleted'):
            self.outcome = Outcome.ERROR
        elif record is None:
            gone = done is None
            self.outcome = Outcome.OK if gone else Outcome.ERROR
            if lost and not gone:
                self.outcome = Outcome.INTERRUPTED
        elif done is None or not done(self.side, record):
            self.outcome = Outcome.INTERRUPTED if lost else Outcome.ERROR
        else:
            self.outcome = Outcome.ERROR if refused else Outcome.OK
        if self.outcome is Outcome.OK and self._has_stayed():
            self.outcome = Outcome.ERROR
        if answer is not None and answer.status < 0:
            self.outcome = Outcome.HUNG
        return True

    def _has_stayed(self) -> bool:
        """Whether a server should have moved, and has not."""
        return (
            self.operation.name == 'live migration'
            and self.side.servers.host(self.volume.server) == self.host
        )

    def _volume_is_idle(self) -> bool:
        record = self.side.show('volumes', self.volume.ident)
        if self._is_moving(record['status'] if record else 'gone'):
            return False
        if not self.operation.server:
            return True
        # Nova and Cinder agree.
        self.side.servers.has(self.volume)
        return not self.side.servers.is_busy(self.volume.server)

    def _is_moving(self, status: str) -> bool:
        if self.operation.name == 'attach' and status == 'attaching':
            # Nova would complete the attachment.
            return False
        if status.startswith('error'):
            return False
        if self.operation.server and status == 'reserved':
            return True
        return status.endswith('ing') or status in _MOVING

    def check(self) -> None:
        """Compare contents: of the volume, and of what was created."""
        own, base = self.volume.content, self.side.base.content
        after = self.operation.after(own, base)
        record = self.side.show('volumes', self.volume.ident)
        deleted = self.operation.name == 'delete'
        # While it is overwritten, the owner knows that it is incomplete.
        partial = self.operation.name in ('restore', 'revert') and (
            self.outcome is not Outcome.OK
        )
        if record is None:
            if not deleted:
                self.wrong = f'volume {self.volume.ident} is gone'
        elif not partial and not (
            deleted and record['status'].startswith('error')
        ):
            allowed = [own] if self.operation.creates else [own, after]
            if self.outcome is Outcome.OK and not self.operation.creates:
                allowed = [after]
                # The status alone does not tell whether it took effect.
                if (
                    self._is_lost
                    and own != after
                    and not self.side.has_content(record, own)
                ):
                    self.outcome = Outcome.INTERRUPTED
                    return
            written = self.volume.written
            self.wrong = (
                self.side.has_content(record, *allowed, written=written) or ''
            )
        if self.operation.creates and not self.wrong:
            self._check_created(after)
        if self.operation.server and not self.wrong:
            self.wrong = self.side.servers.check(self.volume)

    def _check_created(self, after: Content) -> None:
        record = self._record()
        if record is None:
            return
        if self.operation.watched == 'volumes':
            if record['status'] == 'available':
                self.wrong = self.side.has_content(record, after) or ''
        elif self.operation.watched == 'images':
            digests = {}
            if record['status'] == 'active':
                digests = self.side.cluster.content('images', record['id'])
                if digests != contents.digests(self.volume.content):
                    self.wrong = f'image {record["id"]} has {digests}'
