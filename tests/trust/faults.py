# SPDX-License-Identifier: Apache-2.0

"""Faults: processes in trouble, and a cluster.

Runs in the process namespace of the sandbox, as its administrator.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
from typing import NamedTuple

from sandbox_cloud import processes
from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.cloud import clustered
from tests.trust import cluster

#: The programs of the sandbox that are killed and stopped.
PROGRAMS = (
    *('cinder-volume', 'cinder-volume', 'cinder-volume', 'cinder-api'),
    *('cinder-scheduler', 'cinder-backup', 'glance-api', 'nova-compute'),
    *('ceph-osd', 'ceph-mon', 'mariadb', 'rabbitmq'),
)
#: The same when servers use the volumes.
SERVER_PROGRAMS = (
    *('nova-compute', 'nova-compute2', 'libvirtd', 'libvirtd2', 'qemu'),
    *('qemu', 'cinder-volume', 'cinder-api', 'nova-api', 'nova-conductor'),
    *('rabbitmq', 'mariadb', 'ceph-osd'),
)
# Programs among those that another one has started, which goes on.
_WITHIN = {
    'qemu': ('qemu-', ('libvirtd', 'libvirtd2')),
    'libvirtd': ('libvirtd', ('libvirtd',)),
    'libvirtd2': ('libvirtd', ('libvirtd2',)),
}
CLUSTER = (
    *('osd down', 'monitor down', 'paused', 'pool quota', 'blocklist'),
    *('key removed', 'socket failures', 'slow', 'full', 'monitor replaced'),
)
#: The services of a cluster of which one is killed.
SERVICES = ('service 1', 'service 2')
#: What each kind of faults is drawn from.
TARGETS = {
    'kill': PROGRAMS,
    # SIGTERM, as each upgrade sends it.
    'terminate': PROGRAMS,
    'stop': PROGRAMS,
    'cluster': CLUSTER,
    'clock': ('ceph-osd', 'ceph-mon', 'cinder-volume'),
    'cut': ('ceph-osd', 'ceph-mon'),
    'service': SERVICES,
}
# Signals that end a program, which its supervisor starts again.
_ENDING = {'kill': signal.SIGKILL, 'terminate': signal.SIGTERM}
_LATEST = 2.5
_STARTED = 60.0
_DOWN = {'osd down': 'ceph-osd', 'monitor down': 'ceph-mon'}
# On a busy machine, cinder-volume needs minutes.
_SERVES = 600.0
_CLOCK = (
    'LD_PRELOAD="/usr/$LIB/faketime/libfaketimeMT.so.1",FAKETIME="+3600",'
    'FAKETIME_DONT_FAKE_MONOTONIC="1",'
)
# The kernel removes the ports when the time is up, also after a kill.
_CUT = """
add table inet trust
delete table inet trust
add table inet trust
add set inet trust ports {{ type inet_service; flags timeout; }}
add element inet trust ports {{ {ports} }}
add chain inet trust input {{ type filter hook input priority 0; }}
add rule inet trust input tcp dport @ports drop
add rule inet trust input tcp sport @ports drop
"""


class Fault(NamedTuple):
    """A fault as it is drawn.

    :ivar kind: a key of :data:`TARGETS`
    :ivar target: a program, or the name of a fault of the cluster, or one of
        two volume services of a cluster, which starts again afterwards
    :ivar seconds: its duration; a program that ended starts again by itself
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


def offered(
    kinds: Iterable[str], only: Collection[str] = (), servers: bool = False
) -> dict[str, list[str]]:
    """Return the targets of each of these kinds, or the only ones of them.

    :param servers: whether servers use the volumes
    """
    kinds_of_programs = ('kill', 'terminate', 'stop')
    of_servers = dict.fromkeys(kinds_of_programs, SERVER_PROGRAMS)
    every = {**TARGETS, **(of_servers if servers else {})}
    targets = {
        kind: [each for each in every[kind] if not only or each in only]
        for kind in kinds
    }
    return {kind: each for kind, each in targets.items() if each}


def drawn(rng: random.Random, targets: Mapping[str, Sequence[str]]) -> Fault:
    """Draw a fault of one of these kinds."""
    kind = rng.choice(list(targets))
    # Most requests take less than a second.
    delay = -1.0 if rng.random() < 0.15 else _LATEST * rng.random() ** 2
    seconds = 0 if kind in _ENDING else rng.choice((5, 5, 10, 20))
    changes = rng.randint(1, 6) if delay > 0 and rng.random() < 0.5 else 0
    target, side = rng.choice(targets[kind]), rng.randrange(2)
    return Fault(kind, target, seconds, delay, changes, side)


def can_cut() -> bool:
    """Return whether the network here is that of a sandbox alone."""
    return [name for _, name in socket.if_nameindex()] == ['lo']


class Injector:
    """Injects faults into a sandbox."""

    def __init__(
        self,
        place: state.State,
        services: Sequence[clustered.Service] = (),
    ) -> None:
        self._services = services
        self.supervisor = supervise.Supervisor(place, {})
        self._programs = place.run / 'programs'
        self.cluster = cluster.Cluster(place, self.supervisor)

    def inject(self, fault: Fault) -> None:
        """Cause a fault, and end it after its duration."""
        if fault.kind in _ENDING:
            self._signal(fault.target, _ENDING[fault.kind])
        elif fault.kind == 'service':
            service = self._services[SERVICES.index(fault.target)]
            service.kill()
            time.sleep(fault.seconds)
            service.start()
        elif fault.target == 'blocklist':
            self.cluster.blocklist()
        elif fault.target == 'slow':
            self._slow(fault.seconds)
        else:
            with self._lasting(fault):
                time.sleep(fault.seconds)

    def _lasting(
        self, fault: Fault
    ) -> contextlib.AbstractContextManager[None]:
        target = fault.target
        if fault.kind == 'stop':
            return self._stopped(target)
        if fault.kind == 'clock':
            return self._wrong_clock(target)
        if fault.kind == 'cut':
            return self._cut(target, fault.seconds)
        if target in _DOWN:
            return self._down(_DOWN[target])
        faults = {
            'paused': self.cluster.paused,
            'pool quota': self.cluster.quota,
            'key removed': self.cluster.no_key,
            'socket failures': self.cluster.sockets,
            'full': self.cluster.full,
            'monitor replaced': self.cluster.replaced,
        }
        return faults[target]()

    def pid(self, program: str) -> int:
        """Return the number of the main process of a program, or 0."""
        return int(self.supervisor.processes()[program]['pid'])

    def _family(self, program: str) -> list[int]:
        """Return the processes of a program."""
        # It may still start after an earlier fault.
        deadline = time.monotonic() + _STARTED
        while not (main := self.pid(program)):
            if time.monotonic() > deadline:
                raise RuntimeError(f'{program} does not run')
            time.sleep(0.1)
        return processes.family(main)

    def _serving(self, program: str) -> list[int]:
        """Wait until a program serves requests; return its processes."""
        deadline = time.monotonic() + _SERVES
        while time.monotonic() < deadline:
            family = self._family(program)
            # cinder-volume does not listen, but has a child process for each
            # back end. A single one belongs to its start.
            if len(family) > 2 or processes.ports_of(family):
                return family
            time.sleep(0.1)
        raise RuntimeError(f'{program} does not serve requests')

    def _signal(self, program: str, number: int) -> None:
        name, mains = _WITHIN.get(program, ('', (program,)))
        for pid in [pid for main in mains for pid in self._family(main)]:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                command = pathlib.Path(f'/proc/{pid}/comm').read_text()
                if command.startswith(name):
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

    @contextlib.contextmanager
    def _wrong_clock(self, program: str) -> Iterator[None]:
        """Let the clock of a program be an hour fast; it starts again."""
        conf = self._programs / f'{program}.conf'
        text = conf.read_text()
        key = 'environment = '
        try:
            self._restart(program, text.replace(key, key + _CLOCK, 1))
            self._serving(program)
            yield
        finally:
            self._restart(program, text)

    def _restart(self, program: str, text: str) -> None:
        state.write_private(self._programs / f'{program}.conf', text)
        self.supervisor.reload()
        self.supervisor.start(program)

    @contextlib.contextmanager
    def _cut(self, program: str, seconds: float) -> Iterator[None]:
        """Drop all packets to and from the ports of a program."""
        if not can_cut():
            raise RuntimeError('the network is not that of a sandbox alone')
        ports = processes.ports_of(self._serving(program))
        each = ', '.join(f'{port} timeout {seconds}s' for port in ports)
        self._nft(_CUT.format(ports=each))
        try:
            yield
        finally:
            self._nft('delete table inet trust')

    def _nft(self, text: str) -> None:
        subprocess.run(['nft', '-f', '-'], input=text, text=True, check=True)

    def _slow(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._stopped('ceph-osd'):
                time.sleep(0.4)
            time.sleep(0.1)
