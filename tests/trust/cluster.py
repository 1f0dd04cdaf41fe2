# SPDX-License-Identifier: Apache-2.0

"""Faults of the Ceph cluster that its administrator causes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any
import xmlrpc.client

from sandbox_cloud import ceph_files
from sandbox_cloud import state
from sandbox_cloud import supervise

_POOLS = ('volumes', 'volumes2')
_USER = 'client.cinder'
# In this order: an OSD uses the highest of the lower ones.
_RATIOS = ('nearfull', 'backfillfull', 'full')
# Less than any OSD uses.
_RATIO = 0.0001
_USUAL = 'ceph-mon'
_OTHER = 'ceph-mon-b'
_IDENTS = {_USUAL: 'a', _OTHER: 'b'}
_PATIENCE = 60.0
# Seconds in which placement groups renew their leases by themselves.
_LEASE = 16.0


class Cluster:
    """The Ceph cluster of a sandbox."""

    def __init__(
        self, place: state.State, supervisor: supervise.Supervisor
    ) -> None:
        self._supervisor = supervisor
        self._programs = place.run / 'programs'
        self._ceph = place.run / 'ceph'
        self._conf = self._ceph / 'etc' / 'ceph.conf'

    def ceph(self, *words: str, text: str = '') -> str:
        """Run a command of Ceph's administrator."""
        command = ['ceph', '--id', 'admin', *words]
        return self._run(*command, text=text)

    def _run(self, program: str, *words: str, text: str = '') -> str:
        done = subprocess.run(
            [program, '--conf', str(self._conf), *words],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _shown(self, *words: str) -> Any:
        return json.loads(self.ceph(*words, '--format', 'json'))

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not done():
            if time.monotonic() > deadline:
                raise RuntimeError(f'waited {_PATIENCE:.0f} s for {what}')
            time.sleep(0.1)

    def peer(self) -> bool:
        """Let placement groups peer again that stay laggy.

        They answer no request before: https://tracker.ceph.com/issues/80404

        :returns: whether there were any
        """
        deadline = time.monotonic() + _LEASE
        while self._laggy():
            if time.monotonic() > deadline:
                self.ceph('osd', 'down', '0')
                self._until(lambda: not self._laggy(), 'placement groups')
                return True
            time.sleep(1)
        return False

    def _laggy(self) -> Any:
        return self._shown('pg', 'ls', 'laggy').get('pg_stats')

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Pause all I/O."""
        self.ceph('osd', 'set', 'pause')
        try:
            yield
        finally:
            self.ceph('osd', 'unset', 'pause')

    @contextlib.contextmanager
    def quota(self) -> Iterator[None]:
        """Let the pools of volumes reach their quota."""
        quota = ('osd', 'pool', 'set-quota')
        for pool in _POOLS:
            self.ceph(*quota, pool, 'max_bytes', '1')
        try:
            yield
        finally:
            for pool in _POOLS:
                self.ceph(*quota, pool, 'max_bytes', '0')

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Let the OSD, and so all pools, count as full."""
        former = self._shown('osd', 'dump')
        try:
            for name in _RATIOS:
                self.ceph('osd', f'set-{name}-ratio', str(_RATIO))
            self._until(self._is_full, 'full pools')
            yield
        finally:
            for name in _RATIOS[::-1]:
                ratio = str(former[f'{name}_ratio'])
                self.ceph('osd', f'set-{name}-ratio', ratio)

    def _is_full(self) -> bool:
        pools = self._shown('osd', 'dump')['pools']
        return all('full' in each['flags_names'].split(',') for each in pools)

    def blocklist(self) -> None:
        """Refuse the present clients for good: they have to connect again."""
        sessions = self._shown('tell', 'mon.a', 'sessions')
        addresses = {
            address['addr'] + f'/{address["nonce"]}'
            for session in sessions
            if session['entity_name'] == _USER
            for address in session['addrs']['addrvec'][:1]
        }
        for address in addresses:
            self.ceph('osd', 'blocklist', 'add', address)

    @contextlib.contextmanager
    def no_key(self) -> Iterator[None]:
        """Remove the key of Cinder."""
        key = self.ceph('auth', 'get', _USER)
        self.ceph('auth', 'del', _USER)
        try:
            yield
        finally:
            self.ceph('auth', 'import', '-i', '-', text=key)

    @contextlib.contextmanager
    def sockets(self) -> Iterator[None]:
        """Break connections to the OSD."""
        name = ('osd', 'ms_inject_socket_failures')
        self.ceph('config', 'set', *name, '50')
        try:
            yield
        finally:
            self.ceph('config', 'rm', *name)

    @contextlib.contextmanager
    def replaced(self) -> Iterator[None]:
        """Replace the monitor, and the new one with the former again.

        At any time, ceph.conf names a monitor that has joined.
        """
        usual = self._programs / f'{_USUAL}.conf'
        other = self._programs / f'{_OTHER}.conf'
        text = usual.read_text().replace(_USUAL, _OTHER)
        # The command is "ceph-mon", too.
        text = text.replace(f' {_OTHER} ', f' {_USUAL} ')
        text = text.replace(' -i a', ' -i b')
        state.write_private(other, text)
        self._supervisor.reload()
        v2, v1 = ceph_files.free_ports(2)
        conf = self._conf.read_text()
        (former,) = (
            line for line in conf.splitlines() if line.startswith('mon host =')
        )
        host = f'mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]'
        self._replace(_USUAL, _OTHER, conf.replace(former, host))
        try:
            yield
        finally:
            self._replace(_OTHER, _USUAL, conf)
            other.unlink()
            self._supervisor.reload()

    def _replace(self, program: str, joining: str, conf: str) -> None:
        old, new = _IDENTS[program], _IDENTS[joining]
        data = self._ceph / 'data'
        shutil.rmtree(data / f'mon.{new}', ignore_errors=True)
        address = conf.partition('mon host = ')[2].partition('\n')[0]
        with tempfile.TemporaryDirectory() as folder:
            monmap = str(pathlib.Path(folder) / 'monmap')
            self.ceph('mon', 'getmap', '-o', monmap)
            self._run('monmaptool', '--addv', new, address, monmap)
            self._run(
                *('ceph-mon', '--mkfs', '-i', new, '--monmap', monmap),
                *('--keyring', str(data / f'mon.{old}' / 'keyring')),
            )
        self._supervisor.start(joining)
        self._until(
            lambda: len(self._shown('quorum_status')['quorum']) == 2,
            'the other monitor',
        )
        state.write_private(self._conf, conf)
        self.ceph('mon', 'remove', old)
        self._until(lambda: self._is_stopped(program), f'{program} to end')

    def _is_stopped(self, program: str) -> bool:
        # A monitor that was removed ends, and the supervisor starts it again.
        with contextlib.suppress(xmlrpc.client.Fault):
            self._supervisor.stop(program)
        status = self._supervisor.processes()[program]['statename']
        return status in ('STOPPED', 'FATAL')
