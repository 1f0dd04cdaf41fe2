# SPDX-License-Identifier: Apache-2.0

"""The servers of a side, their guests, and the volumes that they use."""

from __future__ import annotations

from collections.abc import Callable
import itertools
import subprocess
import time
from typing import Any
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from sandbox_cloud import compute_hosts
from sandbox_cloud import guest
from sandbox_cloud import state
from tests.cloud import base
from tests.life import content as contents

if TYPE_CHECKING:
    from tests.trust import side as sides

_MIB = 2**20
# Seconds that an owner waits: until a guest is up or answers, until a volume
# is detached or a server deleted, and until the request is sent again.
_BOOTED = 240.0
_ANSWERED = 90.0
_GONE = 60.0
_AGAIN = 5.0
# Seconds until Ceph forgets a client that was killed.
_WATCHED = 40.0
_numbers = itertools.count(1)


class Servers:
    """The servers of a side, which are kept between rounds."""

    def __init__(self, side: sides.Side) -> None:
        self._side = side
        self._kept: dict[str, str] = {}

    # What operations start from

    def get(self, place: str) -> str:
        """Return the server of a place, whose guest is up."""
        if place in self._kept and not self._is_up(self._kept[place]):
            self._deleted(self._kept[place])
        if place not in self._kept:
            body = {
                'name': f'{self._side.prefix}-{place}',
                'flavorRef': self._first('flavors?is_public=True', 'tiny'),
                'imageRef': self._first('images', 'tiny'),
                'networks': 'none',
            }
            answer = self._side.ask('POST', '/servers', {'server': body})
            ident = answer.body['server']['id']
            self._kept[place] = ident
            self._side.until(
                lambda: guest.UP in self._console(ident), 'a guest', _BOOTED
            )
        return self._kept[place]

    def _is_up(self, server: str) -> bool:
        return (
            self.show(server).get('status') == 'ACTIVE'
            and not self.is_busy(server)
            and 'running' in self._virsh(server, 'domstate')
        )

    def _first(self, path: str, name: str) -> str:
        service = 'image' if path == 'images' else 'compute'
        answer = self._side.ask('GET', f'/{path}', service=service)
        (records,) = (v for v in answer.body.values() if isinstance(v, list))
        return next(str(e['id']) for e in records if e['name'] == name)

    def attach(self, volume: sides.Volume) -> None:
        """Attach a volume, and let the guest write to it."""
        self._side.ask('POST', *attachment(volume))
        self._side.until(lambda: self.has(volume), 'an attachment')
        if error := self._write(volume):
            raise RuntimeError(error)

    def _write(self, volume: sides.Volume) -> str:
        """Let the guest write to a volume; return what went wrong."""
        number = next(_numbers)
        line = f'{number} write 1 word-{number}'
        record = self._side.show('volumes', volume.ident)
        if record is None:
            return f'volume {volume.ident} is gone'
        pool, name = self._side.image_of(record)
        guest.ask(f'{pool}/{name}', line)
        first = volume.content.get(0)
        data = (
            bytes(contents.BLOCK) if first is None else contents.block(first)
        )
        sector = f'guest, {line}\n'.encode().ljust(512, b'\0')
        repeated = f'word-{number}\n'.encode() * _MIB
        volume.written = {
            0: contents.digest(sector + data[512:]),
            **contents.digests_in(_MIB, repeated[:_MIB]),
        }
        expected = f'md5={guest.checksum(f"word-{number}", 1)}'
        answer = ''
        deadline = time.monotonic() + _ANSWERED
        while not answer and time.monotonic() < deadline:
            time.sleep(1)
            answer = guest.answer(self._console(volume.server), number) or ''
        if answer.endswith(expected):
            return ''
        return f'the guest says {answer!r} after {line!r}'

    def _console(self, server: str) -> str:
        body: dict[str, Any] = {'os-getConsoleOutput': {}}
        answer = self._side.ask('POST', f'/servers/{server}/action', body)
        return str(answer.body.get('output', ''))

    # What became of them

    def show(self, server: str) -> sides.Record:
        """Return a server as the administrator sees it; empty if it is gone.

        :raises ConnectionError: if the API does not answer
        """
        answer = self._side.ask('GET', f'/servers/{server}', as_admin=True)
        if answer.status not in (200, 404):
            raise ConnectionError(answer.text)
        record: sides.Record = answer.body.get('server', {})
        return record

    def is_busy(self, server: str) -> bool:
        """Return whether Nova works on a server."""
        return bool(self.show(server).get('OS-EXT-STS:task_state'))

    def host(self, server: str) -> str:
        """Return the host of a server."""
        return str(self.show(server).get('OS-EXT-SRV-ATTR:host'))

    def has(self, volume: sides.Volume) -> bool:
        """Return whether Nova and Cinder say that a volume is attached.

        :raises ConnectionError: if only one of them says so
        """
        path = f'/servers/{volume.server}/os-volume_attachments'
        answer = self._side.ask('GET', path)
        record = self._side.show('volumes', volume.ident)
        if answer.status not in (200, 404):
            raise ConnectionError(answer.text)
        attached = volume.ident in {
            each['volumeId']
            for each in answer.body.get('volumeAttachments', ())
        }
        status = record['status'] if record else 'gone'
        if attached != (status == 'in-use'):
            raise ConnectionError(f'attached: {attached}, but {status}')
        return attached

    def check(self, volume: sides.Volume) -> str:
        """Check the disk of a volume, with a guest that runs.

        :returns: what is wrong; empty if nothing is
        """
        try:
            attached = self.has(volume)
        except ConnectionError:
            # The status of the volume is the result of the operation.
            return ''
        if not self._is_up(volume.server):
            # The owner sees that the guest does not answer.
            self._act(volume.server, reboot={'type': 'HARD'})
            if not self._wait(lambda: self._is_up(volume.server), _ANSWERED):
                return ''
        for option in ('', '--inactive'):
            modes = self._modes(volume, option)
            if modes != ([volume.mode] if attached else []):
                return f'the disks of {volume} have {modes} {option}'
        if not attached:
            return ''
        return self._write(volume) or (
            self._side.has_content(
                {'id': volume.ident}, volume.content, written=volume.written
            )
            or ''
        )

    def _modes(self, volume: sides.Volume, option: str) -> list[str]:
        """Return the cache modes of the disks of a volume."""
        xml = self._virsh(volume.server, 'dumpxml', option)
        disks = ElementTree.fromstring(xml).iter('disk')  # noqa: S314 - ours
        return [
            driver.get('cache', '')
            for disk in disks
            if disk.findtext('serial') == volume.ident
            for driver in disk.iter('driver')
        ]

    def _virsh(self, server: str, command: str, option: str = '') -> str:
        first, second = (
            compute_hosts.ComputeHost(state.State(state.default_root()), n)
            for n in (1, 2)
        )
        host = first if self.host(server) == first.name else second
        words = ['virsh', '-c', host.uri, command, server, option]
        done = subprocess.run(
            [*filter(None, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWERED,
        )
        return done.stdout + done.stderr

    def _act(self, server: str, **action: Any) -> None:
        self._side.ask('POST', f'/servers/{server}/action', action)

    # Afterwards

    def leave(self, volume: sides.Volume) -> tuple[int, str]:
        """Detach a volume as its owner would, or delete the server.

        :returns: the resets it needed, and what was unusual
        """
        path = f'/servers/{volume.server}/os-volume_attachments/{volume.ident}'
        if self._wait(lambda: self._detached(volume), _GONE, path):
            return 0, self._watched(volume)
        told = f'server {volume.server} had to be deleted: '
        told += self._state(volume)
        return self._deleted(volume.server), told

    def _detached(self, volume: sides.Volume) -> bool:
        return not self.is_busy(volume.server) and not self.has(volume)

    def _state(self, volume: sides.Volume) -> str:
        """Return what Nova and Cinder say about a volume and its server."""
        record = self._side.show('volumes', volume.ident) or {}
        server = self.show(volume.server)
        path = f'/servers/{volume.server}/os-volume_attachments'
        answer = self._side.ask('GET', path)
        shown = (record.get('status'), record.get('attachments'))
        names = ('status', 'OS-EXT-STS:task_state', 'fault')
        return f'{shown} {[server.get(e) for e in names]} {answer.text}'[:600]

    def _watched(self, volume: sides.Volume) -> str:
        record = self._side.show('volumes', volume.ident)
        if record is None:
            return ''
        image = '/'.join(self._side.image_of(record))
        watchers: list[Any] = []

        def is_free() -> bool:
            watchers[:] = base.rbd('status', image)['watchers']
            return not watchers

        return '' if self._wait(is_free, _WATCHED) else f'{image}: {watchers}'

    def _deleted(self, server: str) -> int:
        """Delete a server; return whether this needed the administrator."""
        path = f'/servers/{server}'
        self._kept = {k: v for k, v in self._kept.items() if v != server}
        for resets in (0, 1):
            if self._wait(lambda: not self.show(server), _GONE, path):
                return resets
            body = {'os-resetState': {'state': 'error'}}
            self._side.ask('POST', f'{path}/action', body, as_admin=True)
        return 1

    def _wait(
        self, done: Callable[[], bool], seconds: float, delete: str = ''
    ) -> bool:
        """Wait until something is done; return whether it is.

        :param delete: a path to which a DELETE is sent until then
        """
        deadline = time.monotonic() + seconds
        sent = 0.0
        while time.monotonic() < deadline:
            try:
                if done():
                    return True
            except ConnectionError:
                pass
            if delete and time.monotonic() > sent + _AGAIN:
                self._side.ask('DELETE', delete)
                sent = time.monotonic()
            time.sleep(0.5)
        return False

    def remove(self) -> None:
        """Delete all servers."""
        for server in list(self._kept.values()):
            self._deleted(server)


def attachment(volume: sides.Volume) -> tuple[str, sides.Record]:
    """Return path and body of the request that attaches a volume."""
    path = f'/servers/{volume.server}/os-volume_attachments'
    return path, {'volumeAttachment': {'volumeId': volume.ident}}
