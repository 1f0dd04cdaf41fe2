# SPDX-License-Identifier: Apache-2.0

"""Processes and listeners of this machine, read from /proc.

Processes of the sandbox have MARK in their environment, which children
inherit. They are therefore found even if their parents have ended. Other
processes are never signalled.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import signal
import time

MARK = 'ONECLOUD_RUN'
_LISTEN = '0A'
_PROC = pathlib.Path('/proc')


@dataclasses.dataclass(frozen=True)
class Listener:
    """A process that listens on a TCP port."""

    port: int
    pid: int | None
    command: str


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def command_of(pid: int) -> str:
    """Return the command line of a process, shortened."""
    with contextlib.suppress(OSError):
        raw = (_PROC / str(pid) / 'cmdline').read_bytes()
        return raw.replace(b'\0', b' ').decode(errors='replace')[:80].strip()
    return '?'


def is_ours(pid: int, run: pathlib.Path) -> bool:
    """Return whether the sandbox in this folder started a process."""
    wanted = f'{MARK}={run}'.encode()
    with contextlib.suppress(OSError):
        environ = (_PROC / str(pid) / 'environ').read_bytes()
        return wanted in environ.split(b'\0')
    return False


def ours(run: pathlib.Path) -> list[int]:
    """Return the sandbox's processes, without zombies."""
    return [pid for pid in _pids() if is_ours(pid, run)]


def memory_mib(pids: Iterable[int]) -> int:
    """Return the memory of processes; shared pages are divided (PSS)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            rollup = (_PROC / str(pid) / 'smaps_rollup').read_text()
            for line in rollup.splitlines():
                if line.startswith('Pss:'):
                    total += int(line.split()[1])
    return total // 1024


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for other in _pids():
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = (_PROC / str(other) / 'stat').read_text()
            # The name in brackets may contain any character; fields follow it.
            parent = int(stat.rpartition(')')[2].split()[1])
            children.setdefault(parent, []).append(other)
    pids = [pid]
    for known in pids:
        pids.extend(children.get(known, ()))
    return pids


def end(run: pathlib.Path, grace: float = 3) -> int:
    """End every process of the sandbox; return their number."""
    pids = ours(run)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in ours(run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + grace
        while ours(run) and time.monotonic() < deadline:
            time.sleep(0.05)
    return len(pids)


def _listening_inodes() -> dict[str, int]:
    inodes = {}
    for table in ('tcp', 'tcp6'):
        with contextlib.suppress(OSError):
            lines = (_PROC / 'net' / table).read_text().splitlines()[1:]
            for fields in map(str.split, lines):
                if fields[3] == _LISTEN:
                    inodes[fields[9]] = int(fields[1].rpartition(':')[2], 16)
    return inodes


def listeners(ports: Iterable[int]) -> list[Listener]:
    """Return the processes that listen on these ports, on any address."""
    wanted = set(ports)
    inodes = {
        inode: port
        for inode, port in _listening_inodes().items()
        if port in wanted
    }
    by_port: dict[int, Listener] = {}
    if inodes:
        for pid in _pids():
            for inode in _sockets(pid) & inodes.keys():
                port = inodes[inode]
                by_port.setdefault(port, Listener(port, pid, command_of(pid)))
    for port in inodes.values():
        # If a process is in another namespace, only its socket is visible.
        by_port.setdefault(port, Listener(port, None, '?'))
    return list(by_port.values())


def _sockets(pid: int) -> set[str]:
    inodes = set()
    with contextlib.suppress(OSError):
        for entry in (_PROC / str(pid) / 'fd').iterdir():
            with contextlib.suppress(OSError):
                target = os.readlink(entry)
                if target.startswith('socket:['):
                    inodes.add(target[8:-1])
    return inodes


def ports_of(pids: Iterable[int]) -> list[int]:
    """Return the TCP ports that these processes listen on."""
    inodes = _listening_inodes()
    ports: set[int] = set()
    for pid in pids:
        ports.update(inodes[inode] for inode in _sockets(pid) & inodes.keys())
    return sorted(ports)
