# SPDX-License-Identifier: Apache-2.0

"""What services use during a run, and whether it grows."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import json
import math
import pathlib
import statistics
import time

from sandbox_cloud import processes
from sandbox_cloud import supervise
from tests.life import cloud

Figures = dict[str, float]

_PROGRAMS = ('cinder-volume', 'cinder-backup', 'cinder-api', 'glance-api')
_TABLES = (
    *('volumes', 'snapshots', 'backups', 'volume_attachment'),
    *('volume_admin_metadata', 'volume_metadata', 'workers', 'reservations'),
)
#: Caches and pools of connections and threads fill first.
_WARM_UP = 0.25


def measured(
    supervisor: supervise.Supervisor, ceph: Callable[..., str]
) -> Figures:
    """Return threads, descriptors, memory (MiB), sessions and rows.

    :param ceph: runs a command of Ceph's administrator
    """
    figures: Figures = {}
    running = supervisor.processes()
    for program in _PROGRAMS:
        family = processes.family(int(running[program]['pid']))
        for name, folder in (('threads', 'task'), ('descriptors', 'fd')):
            figures[f'{program} {name}'] = sum(
                _entries(pathlib.Path('/proc', str(pid), folder))
                for pid in family
            )
        figures[f'{program} MiB'] = processes.memory_mib(family)
    sessions = json.loads(ceph('tell', 'mon.a', 'sessions', '-f', 'json'))
    figures['sessions of Ceph'] = len(sessions)
    connected = cloud.query("show status like 'Threads_connected'")
    figures['sessions of MariaDB'] = int(connected[-1])
    counts = '+'.join(
        f'(select count(*) from {table} where not deleted)'  # noqa: S608
        for table in _TABLES
    )
    figures['rows of Cinder'] = int(cloud.query(f'select {counts}')[-1])
    return figures


def _entries(folder: pathlib.Path) -> int:
    with contextlib.suppress(OSError):
        return len(list(folder.iterdir()))
    return 0


class Growth:
    """Figures of a run, and their growth in an hour."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, Figures]] = []

    def add(self, figures: Figures, hours: float | None = None) -> None:
        """Add the figures at a time, by default now."""
        if hours is None:
            hours = time.monotonic() / 3600
        self._samples.append((hours, figures))

    def table(self) -> str:
        """Return each figure at the start and the end, and its growth.

        The growth is the slope of a line through all samples after the first
        quarter of the time, with its standard error.
        """
        samples = self._samples
        if not samples:
            return ''
        begin, end = samples[0][0], samples[-1][0]
        warm = begin + _WARM_UP * (end - begin)
        kept = [each for each in samples if each[0] >= warm]
        lines = [f'{"":28} {"start":>8} {"end":>8}   growth per hour']
        for name, first in samples[0][1].items():
            last = samples[-1][1][name]
            slope = _slope([(hours, each[name]) for hours, each in kept])
            lines.append(f'{name:28} {first:8.0f} {last:8.0f}   {slope}')
        return '\n'.join(lines)


def _slope(points: list[tuple[float, float]]) -> str:
    if len(points) < 3:
        return '-'
    hours, values = zip(*points, strict=True)
    slope, start = statistics.linear_regression(hours, values)
    mean = statistics.fmean(hours)
    spread = sum((hour - mean) ** 2 for hour in hours)
    rest = sum((v - start - slope * h) ** 2 for h, v in points)
    error = math.sqrt(rest / (len(points) - 2) / spread)
    return f'{slope:+.1f} \N{PLUS-MINUS SIGN} {error:.1f}'
