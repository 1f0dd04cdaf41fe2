# SPDX-License-Identifier: Apache-2.0

"""Faults: processes that are killed or stopped, and a cluster in trouble.

Runs in the process namespace of the sandbox, as its administrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import os
import random
import signal
import subprocess
import time
from typing import NamedTuple

from sandbox_cloud import processes
from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.cloud import clustered

#: The programs of the sandbox that are killed and stopped.
PROGRAMS = (
    *('cinder-volume', 'cinder-volume', 'cinder-volume', 'cinder-api'),
    *('cinder-scheduler', 'cinder-backup', 'glance-api', 'nova-compute'),
    *('ceph-osd', 'ceph-mon', 'mariadb', 'rabbitmq'),
)
CLUSTER = (
    *('osd down', 'monitor down', 'paused', 'pool quota', 'blocklist'),
    *('key removed', 'socket failures', 'slow'),
)
#: The services of a cluster of which one is killed.
SERVICES = ('service 1', 'service 2')
_LATEST = 2.5
_STARTED = 60.0
_POOLS = ('volumes', 'volumes2')
_DOWN = {'osd down': 'ceph-osd', 'monitor down': 'ceph-mon'}
_USER = 'client.cinder'


class Fault(NamedTuple):
    """A fault as it is drawn.

    :ivar kind: ``kill``, ``stop``, ``cluster`` or ``service``
    :ivar target: a program, or the name of a fault of the cluster, or one of
        two volume services of a cluster, which starts again afterwards
    :ivar seconds: its duration; a killed program starts again by itself
    :ivar delay: seconds between the first request and the fault; if it is
        negative, between the fault and the first request
    :ivar changes: if it is not 0, the fault waits instead until the images of
        a pool have changed this number of times
    :ivar side: the number of the driver whose pool it is: each is interrupted
        between its steps equally often
    """

    kind: str
    target: str
    seconds: float
    delay: float
    changes: int = 0
    side: int = 0

    def __str__(self) -> str:
        when = 'idle' if self.delay < 0 else f'after {self.delay:.1f} s'
        if self.changes:
            whose = ('ours', 'stock')[self.side]
            when = f'after {self.changes} changes ({whose})'
        return f'{self.name}, {when}, {self.seconds:.0f} s'

    @property
    def name(self) -> str:
        """The name of its row in the table."""
        if self.kind in ('cluster', 'service'):
            return self.target
        return f'{self.kind} {self.target}'


def drawn(rng: random.Random, kinds: tuple[str, ...]) -> Fault:
    """Draw a fault of one of these kinds."""
    kind = rng.choice(kinds)
    targets = {'cluster': CLUSTER, 'service': SERVICES}.get(kind, PROGRAMS)
    # Most requests take less than a second.
    delay = -1.0 if rng.random() < 0.15 else _LATEST * rng.random() ** 2
    seconds = 0 if kind == 'kill' else rng.choice((5, 5, 10, 20))
    changes = rng.randint(1, 6) if delay > 0 and rng.random() < 0.5 else 0
    target, side = rng.choice(targets), rng.randrange(2)
    return Fault(kind, target, seconds, delay, changes, side)


class Injector:
    """Injects faults into a sandbox."""

    def __init__(
        self,
        place: state.State,
        services: Sequence[clustered.Service] = (),
    ) -> None:
        self._services = services
        self.supervisor = supervise.Supervisor(place, {})
        self._conf = place.run / 'ceph' / 'etc' / 'ceph.conf'

    def inject(self, fault: Fault) -> None:
        """Cause a fault, and end it after its duration."""
        if fault.kind == 'kill':
            self._signal(fault.target, signal.SIGKILL)
        elif fault.kind == 'service':
            service = self._services[SERVICES.index(fault.target)]
            service.kill()
            time.sleep(fault.seconds)
            service.start()
        elif fault.target == 'blocklist':
            self._blocklist()
        elif fault.target == 'slow':
            self._slow(fault.seconds)
        else:
            with self._lasting(fault.target):
                time.sleep(fault.seconds)

    def _lasting(self, target: str) -> contextlib.AbstractContextManager[None]:
        faults = {
            'paused': self._paused,
            'pool quota': self._quota,
            'key removed': self._no_key,
            'socket failures': self._sockets,
        }
        if target in faults:
            return faults[target]()
        if target in _DOWN:
            return self._down(_DOWN[target])
        return self._stopped(target)

    def pid(self, program: str) -> int:
        """Return the number of the main process of a program, or 0."""
        return int(self.supervisor.processes()[program]['pid'])

    def _signal(self, program: str, number: int) -> None:
        # It may still start after an earlier fault.
        deadline = time.monotonic() + _STARTED
        while not (main := self.pid(program)):
            if time.monotonic() > deadline:
                raise RuntimeError(f'{program} does not run')
            time.sleep(0.1)
        for pid in processes.family(main):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    @contextlib.contextmanager
    def _stopped(self, program: str) -> Iterator[None]:
        self._signal(program, signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(program, signal.SIGCONT)

    @contextlib.contextmanager
    def _down(self, program: str) -> Iterator[None]:
        self.supervisor.stop(program)
        try:
            yield
        finally:
            self.supervisor.start(program)

    def _slow(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._stopped('ceph-osd'):
                time.sleep(0.4)
            time.sleep(0.1)

    def ceph(self, *words: str, text: str = '') -> str:
        """Run a command of Ceph's administrator."""
        done = subprocess.run(
            ['ceph', '--conf', str(self._conf), '--id', 'admin', *words],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    @contextlib.contextmanager
    def _paused(self) -> Iterator[None]:
        self.ceph('osd', 'set', 'pause')
        try:
            yield
        finally:
            self.ceph('osd', 'unset', 'pause')

    @contextlib.contextmanager
    def _quota(self) -> Iterator[None]:
        quota = ('osd', 'pool', 'set-quota')
        for pool in _POOLS:
            self.ceph(*quota, pool, 'max_bytes', '1')
        try:
            yield
        finally:
            for pool in _POOLS:
                self.ceph(*quota, pool, 'max_bytes', '0')

    def _blocklist(self) -> None:
        """Refuse the present clients for good: they have to connect again."""
        sessions = json.loads(
            self.ceph('tell', 'mon.a', 'sessions', '--format', 'json')
        )
        addresses = {
            address['addr'] + f'/{address["nonce"]}'
            for session in sessions
            if session['entity_name'] == _USER
            for address in session['addrs']['addrvec'][:1]
        }
        for address in addresses:
            self.ceph('osd', 'blocklist', 'add', address)

    @contextlib.contextmanager
    def _no_key(self) -> Iterator[None]:
        key = self.ceph('auth', 'get', _USER)
        self.ceph('auth', 'del', _USER)
        try:
            yield
        finally:
            self.ceph('auth', 'import', '-i', '-', text=key)

    @contextlib.contextmanager
    def _sockets(self) -> Iterator[None]:
        name = ('osd', 'ms_inject_socket_failures')
        self.ceph('config', 'set', *name, '50')
        try:
            yield
        finally:
            self.ceph('config', 'rm', *name)
