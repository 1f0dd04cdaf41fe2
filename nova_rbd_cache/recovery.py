# SPDX-License-Identifier: Apache-2.0

"""Recovers a server whose cold migration or resize was refused by Cinder.

Nova leaves such a server in ``ERROR`` on the destination, with attachments
that Cinder has reserved and never connected. Each step here is a request to
Nova or Cinder, or a run of ``nova-manage volume_attachment refresh``. No step
writes to a volume.

The steps are derived from the state of the server and of its attachments, and
each changes the state, so that a repetition continues after a kill:

- Until the state of the server is reset, only the keys of volumes changed.
- nova-manage requires a stopped server. A kill between the reset and the stop
  leaves a server that appears to run; this module never stops such a server,
  and says how to continue.
- nova-manage locks the server, reserves an attachment, deletes the former one,
  and connects the new one. A kill in between leaves an attachment that Nova
  does not know, and the lock, which is removed. The attachment may be the last
  one of its volume, which other servers can get without it. It is therefore
  deleted after nova-manage has run again, or, if it is connected, which Cinder
  does not accept beside a new connection, after another one was reserved.
- A stopped server with complete attachments is recovered, and is started only
  by the run that completed them, or by its user. A server that was stopped
  before Nova moved it is not started at all.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import itertools
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any
from typing import Protocol

from rbd_volume_options import keys
from rbd_volume_options import wire

#: Nova shows the attachment of each volume from this microversion on.
_NOVA = '2.89'
_CINDER = '3.27'
_CONNECTED = 'attached'
_RESERVED = 'reserved'
_INCOMPLETE = frozenset({_RESERVED, 'attaching', 'error_attaching'})
#: Nova's actions in which an attachment can be refused.
_MOVES = frozenset({'migrate', 'resize', 'evacuate'})
#: Nova's actions after which a server is stopped or running.
_STOP = 'stop'
_POWER = frozenset({_STOP, 'start', 'create', 'reboot', 'restore', 'unshelve'})
#: How nova-manage explains its lock.
_LOCK = 'Refreshing connection_info for BDM'
_SECONDS = 300
_INTERVAL = 1.0


class NotRecoverable(Exception):
    """The server cannot be recovered; the text says what to do.

    It can contain answers of services, and these the texts of users.
    """

    def __str__(self) -> str:
        return ''.join(
            char if char.isprintable() or char == '\n' else ascii(char)[1:-1]
            for char in super().__str__()
        )


class Service(Protocol):
    """An API of openstacksdk."""

    def get(self, path: str, /, *, microversion: str) -> Any:
        """Return the response to a request."""

    def post(
        self, path: str, /, *, json: Mapping[str, Any], microversion: str
    ) -> Any:
        """Return the response to a request."""

    def delete(self, path: str, /, *, microversion: str) -> Any:
        """Return the response to a request."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of a recovery.

    :ivar command: the step as a command, or in words
    :ivar run: does it
    """

    command: str
    run: Callable[[], object]


@dataclasses.dataclass(frozen=True)
class _Attachment:
    """A volume of the server.

    :ivar is_connected: whether the attachment that Nova knows is complete
    :ivar is_reserved: whether an attachment is reserved, and not connected
    :ivar unknown: status of each attachment that Nova does not know, by its ID
    """

    volume: str
    is_connected: bool
    is_reserved: bool
    unknown: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Recovery:
    """The recovery of a server.

    :ivar compute: Nova's API, as an administrator
    :ivar storage: Cinder's API, as an administrator
    :ivar connector: a file with the connector of the server's host
    :ivar shown: the file as a word of a shell, which can be that of another
        run
    :ivar options: the options of nova-manage before its command
    :ivar cache_mode: the mode for volumes that request one that the host does
        not allow
    :ivar reserved: the attachments that this run has created
    """

    compute: Service
    storage: Service
    server: str
    connector: pathlib.Path
    shown: str
    host: str
    modes: frozenset[str]
    options: tuple[str, ...] = ()
    cache_mode: str | None = None
    reserved: set[str] = dataclasses.field(default_factory=set)

    def steps(self) -> list[Step]:
        """Return what is left to do; empty if the attachments are complete.

        :raises NotRecoverable: with the reason
        """
        server = self._server()
        self._check_idle(server)
        attachments = list(self._attachments())
        broken = [each for each in attachments if not each.is_connected]
        unlock = self._unlock(server)
        if not broken:
            return [*self._forgotten(attachments), *unlock]
        self._check_host(server)
        self._program()
        if server['status'] == 'ERROR':
            self._check_forward()
        return [
            *self._modes(broken),
            *self._stop(server),
            *itertools.chain.from_iterable(map(self._replaced, broken)),
            *self._forgotten(attachments),
            *unlock,
            *self._start(),
        ]

    def _check_idle(self, server: Mapping[str, Any]) -> None:
        task = server['OS-EXT-STS:task_state']
        if task:
            raise NotRecoverable(
                f'Nova is working on the server ({task}). Wait until it has '
                'ended.'
            )
        if server['status'] not in ('ERROR', 'SHUTOFF'):
            raise NotRecoverable(
                f'The server is {server["status"]}, not in ERROR. If an '
                'earlier run of this command was interrupted, run openstack '
                f'server set --state error {self.server}, and repeat.'
            )

    def _check_host(self, server: Mapping[str, Any]) -> None:
        host = server['OS-EXT-SRV-ATTR:host']
        if host != self.host:
            raise NotRecoverable(
                f'The server is on host {host}, and the connector is that of '
                f'{self.host}. Run nova-rbd-cache connector on {host}, and '
                'give the file with its output to --connector.'
            )

    def _check_forward(self) -> None:
        """Check that the server is not in ERROR after a revert.

        Nova changes the host of the server first, and restores its local disks
        last.
        """
        path = f'/os-migrations?instance_uuid={self.server}'
        listed = _body(self.compute.get(path, microversion=_NOVA)) or {}
        # The newest first.
        last: dict[str, Any] = next(iter(listed.get('migrations', ())), {})
        if (
            last.get('migration_type') in ('migration', 'resize')
            and last['status'] in ('reverting', 'error')
            and last['dest_compute'] != self.host
        ):
            raise NotRecoverable(
                'Nova may not have finished the revert of a migration of this '
                f'server to {self.host}. Its local disks may be in the folder '
                f'{self.server}_resize there. Restore them as the '
                'administration guide describes, run openstack server set '
                f'--state active {self.server} and openstack server stop '
                f'{self.server}, and repeat.'
            )

    def _modes(self, broken: Iterable[_Attachment]) -> Iterator[Step]:
        for each in broken:
            required = self._required_modes(each.volume)
            if required is None or self.modes.intersection(required):
                continue
            allowed = ', '.join(sorted(self.modes))
            if self.cache_mode is None:
                raise NotRecoverable(
                    f'Volume {each.volume} requires cache mode '
                    f'{" or ".join(required)}, and host {self.host} allows: '
                    f'{allowed}. Choose one of them with --cache-mode, or '
                    'allow the mode on the host.'
                )
            yield self._change(each.volume, self.cache_mode)

    def _change(self, volume: str, mode: str) -> Step:
        body = {'metadata': {keys.CACHE_MODE: mode}}
        return Step(
            f'openstack volume set --property {keys.CACHE_MODE}={mode} '
            f'{volume}',
            lambda: self._post(
                self.storage, f'/volumes/{volume}/metadata', body, _CINDER
            ),
        )

    def _stop(self, server: Mapping[str, Any]) -> Iterator[Step]:
        if server['status'] == 'ERROR':
            yield self._action(
                f'openstack server set --state active {self.server}',
                {'os-resetState': {'state': 'active'}},
                'ACTIVE',
            )
            yield self._action(
                f'openstack server stop {self.server}',
                {'os-stop': None},
                'SHUTOFF',
            )

    def _start(self) -> Iterator[Step]:
        path = f'/servers/{self.server}/os-instance-actions'
        listed = _body(self.compute.get(path, microversion=_NOVA)) or {}
        # The newest first. Those after the move are of earlier runs.
        names = (each['action'] for each in listed.get('instanceActions', ()))
        before = itertools.dropwhile(lambda name: name not in _MOVES, names)
        if next((name for name in before if name in _POWER), None) != _STOP:
            yield self._action(
                f'openstack server start {self.server}',
                {'os-start': None},
                'ACTIVE',
            )

    def _replaced(self, each: _Attachment) -> Iterator[Step]:
        """Yield the steps that replace the attachment of a volume.

        Cinder reserves a volume for its server again if it is in use or
        reserved. It is ``attaching`` from its connection until Nova completes
        the attachment, which Nova does after it has connected all volumes.
        """
        if self._status(each.volume) == 'attaching':
            yield self._reset(each.volume)
        connected = [
            ident
            for ident, status in each.unknown.items()
            if status != _RESERVED
        ]
        if connected and not each.is_reserved:
            yield self._reserve(each.volume)
        for ident in connected:
            yield Step(
                f'openstack volume attachment delete {ident}',
                functools.partial(self._delete, ident),
            )
        yield self._refresh(each.volume)

    def _status(self, volume: str) -> str:
        path = f'/volumes/{volume}'
        body = _body(self.storage.get(path, microversion=_CINDER))
        if body is None:
            raise NotRecoverable(f'There is no volume with the ID {volume}.')
        return str(body['volume']['status'])

    def _reset(self, volume: str) -> Step:
        """Return a step without effect on attachments.

        They show what is left to do after a kill. An attachment that is
        completed would not.
        """
        body = {'os-reset_status': {'status': 'in-use'}}

        def run() -> None:
            # Its owner may have detached and deleted it since the plan.
            if self._status(volume) == 'attaching':
                self._post(
                    self.storage, f'/volumes/{volume}/action', body, _CINDER
                )

        return Step(f'openstack volume set --state in-use {volume}', run)

    def _reserve(self, volume: str) -> Step:
        names = {'volume_uuid': volume, 'instance_uuid': self.server}

        def run() -> None:
            made = self._post(
                self.storage, '/attachments', {'attachment': names}, _CINDER
            )
            self.reserved.add(made['attachment']['id'])

        return Step(
            f'openstack volume attachment create {volume} {self.server}', run
        )

    def _forgotten(self, attachments: Iterable[_Attachment]) -> Iterator[Step]:
        for each in attachments:
            if each.unknown:
                yield Step(
                    'Delete the reserved attachments that Nova does not know '
                    f'of volume {each.volume}',
                    functools.partial(
                        self._forget, each.volume, tuple(each.unknown)
                    ),
                )

    def _forget(self, volume: str, known: Collection[str]) -> None:
        """Delete attachments of the plan, and what this run reserved.

        Others may be those of a request that Nova has just begun.
        """
        for each in self._attachments():
            for ident in each.unknown if each.volume == volume else ():
                if ident in known or ident in self.reserved:
                    self._check_idle(self._server())
                    self._delete(ident)

    def _delete(self, attachment: str) -> None:
        _body(
            self.storage.delete(
                f'/attachments/{attachment}', microversion=_CINDER
            )
        )

    def _refresh(self, volume: str) -> Step:
        words = 'volume_attachment', 'refresh', self.server, volume
        return Step(self._shown(words), lambda: self._manage(*words))

    def _shown(self, words: Iterable[str]) -> str:
        command = shlex.join(('nova-manage', *self.options, *words))
        return f'{command} {self.shown}'

    def _program(self) -> str:
        beside = pathlib.Path(sys.executable).with_name('nova-manage')
        program = str(beside) if beside.exists() else 'nova-manage'
        if shutil.which(program) is None:
            raise NotRecoverable(
                f'There is no nova-manage beside {sys.executable}. Run this '
                "command on a host with Nova's services and database."
            )
        return program

    def _manage(self, *words: str) -> None:
        done = subprocess.run(
            [self._program(), *self.options, *words, self.connector],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise NotRecoverable(
                f'{self._shown(words)} ended with status {done.returncode}: '
                f'{done.stdout.strip()}'
            )

    def _unlock(self, server: Mapping[str, Any]) -> Iterator[Step]:
        if (server.get('locked_reason') or '').startswith(_LOCK):
            yield self._action(
                f'openstack server unlock {self.server}', {'unlock': None}
            )

    def _action(
        self, command: str, body: Mapping[str, Any], status: str = ''
    ) -> Step:
        def run() -> None:
            path = f'/servers/{self.server}/action'
            self._post(self.compute, path, body, _NOVA)
            if status:
                self._wait(status)

        return Step(command, run)

    def _wait(self, status: str) -> None:
        until = time.monotonic() + _SECONDS
        while True:
            server = self._server()
            task = server['OS-EXT-STS:task_state']
            # Nova has set the task before it answered the request.
            if not task:
                break
            if time.monotonic() > until:
                raise NotRecoverable(
                    f'The server is still {server["status"]} after '
                    f'{_SECONDS} seconds ({task}).'
                )
            time.sleep(_INTERVAL)
        if server['status'] != status:
            fault = server.get('fault', {}).get('message', 'no fault')
            raise NotRecoverable(
                f'The server is {server["status"]}, not {status}: {fault}. '
                f'See openstack server event list {self.server}.'
            )

    def _server(self) -> Mapping[str, Any]:
        path = f'/servers/{self.server}'
        body = _body(self.compute.get(path, microversion=_NOVA))
        if body is None:
            raise NotRecoverable(
                f'There is no server with the ID {self.server}.'
            )
        server: Mapping[str, Any] = body['server']
        return server

    def _attachments(self) -> Iterator[_Attachment]:
        path = f'/servers/{self.server}/os-volume_attachments'
        listed = _body(self.compute.get(path, microversion=_NOVA)) or {}
        for each in listed.get('volumeAttachments', ()):
            volume, ident = each['volumeId'], each['attachment_id'] or ''
            statuses = dict(self._of_volume(volume))
            yield _Attachment(
                volume,
                statuses.get(ident) == _CONNECTED,
                _RESERVED in statuses.values(),
                {
                    other: status
                    for other, status in statuses.items()
                    if other != ident and status in _INCOMPLETE
                },
            )

    def _of_volume(self, volume: str) -> Iterator[tuple[str, str]]:
        """Yield ID and status of a volume's attachments to the server."""
        path = (
            f'/attachments?all_tenants=1&volume_id={volume}'
            f'&instance_id={self.server}'
        )
        listed = _body(self.storage.get(path, microversion=_CINDER)) or {}
        for each in listed.get('attachments', ()):
            if each['instance'] == self.server:
                yield each['id'], each['status']

    def _required_modes(self, volume: str) -> list[str] | None:
        path = (
            f'/volumes/{volume}{wire.ROUTE}'
            f'?{wire.NEXT_ATTACHMENT_SERVER}={self.server}'
        )
        body = _body(self.storage.get(path, microversion=_CINDER))
        if body is None:
            # This cinder-api has no extension.
            return None
        modes: list[str] | None
        modes = body[wire.NEXT_ATTACHMENT][wire.REQUIRED_CACHE_MODES]
        return modes

    def _post(
        self,
        service: Service,
        path: str,
        body: Mapping[str, Any],
        microversion: str,
    ) -> dict[str, Any]:
        response = service.post(path, json=body, microversion=microversion)
        answer = _body(response)
        if answer is None:
            raise NotRecoverable(f'{path} no longer exists.')
        return answer


def _body(response: Any) -> dict[str, Any] | None:
    """Return the body of a response; None if there is no such resource.

    :raises NotRecoverable: if the service refuses the request
    """
    if response.status_code == 404:
        return None
    if response.status_code >= 400:
        raise NotRecoverable(
            f'HTTP {response.status_code}: {response.text[:500]}'
        )
    body: dict[str, Any] = response.json() if response.content else {}
    return body
