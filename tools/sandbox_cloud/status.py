# SPDX-License-Identifier: Apache-2.0

"""Status and shutdown. Uses only the standard library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox_cloud import processes
from sandbox_cloud.state import State
from sandbox_cloud.supervise import Supervisor


def read(state: State) -> dict[str, Any]:
    """Return each program's state, process, ports and memory."""
    supervisor = Supervisor(state, {})
    programs: list[dict[str, Any]] = []
    if supervisor.is_up():
        for name, info in supervisor.processes().items():
            family = processes.family(info['pid']) if info['pid'] else []
            programs.append(
                {
                    'service': name,
                    'state': info['statename'],
                    'pid': info['pid'] or None,
                    'ports': processes.ports_of(family),
                    'memory': processes.memory_mib(family),
                }
            )
    return {
        'up': bool(programs)
        and all(each['state'] == 'RUNNING' for each in programs),
        'release': state.release,
        'platform': state.platform,
        'folder': str(state.root),
        'services': programs,
    }


def ranges(ports: Sequence[int]) -> str:
    """Return sorted ports; contiguous ports are shown as first-last."""
    rows: list[list[int]] = []
    for port in ports:
        if rows and port == rows[-1][-1] + 1:
            rows[-1].append(port)
        else:
            rows.append([port])
    return ' '.join(
        f'{row[0]}-{row[-1]}' if len(row) > 1 else str(row[0]) for row in rows
    )


def table(shown: dict[str, Any]) -> str:
    """Return the status as a table."""
    if not shown['services']:
        return f'Nothing runs in {shown["folder"]}.'
    rows = [('SERVICE', 'STATE', 'PID', 'PORT', 'MiB')]
    for each in shown['services']:
        ports = ranges(each['ports'])
        pid, memory = str(each['pid'] or '-'), str(each['memory'])
        rows.append((each['service'], each['state'], pid, ports, memory))
    total = sum(each['memory'] for each in shown['services'])
    rows.append(('', '', '', '', str(total)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    platform = f' on {shown["platform"]}' if shown['platform'] else ''
    title = f'OpenStack {shown["release"]}{platform} in {shown["folder"]}'
    lines = [title, '']
    for row in rows:
        cells = [
            cell.rjust(width) if place in (2, 4) else cell.ljust(width)
            for place, (cell, width) in enumerate(
                zip(row, widths, strict=True)
            )
        ]
        lines.append('  '.join(cells).rstrip())
    return '\n'.join(lines)


def down(state: State) -> None:
    """Stop all processes of the sandbox in this folder."""
    Supervisor(state, {}).down()
    processes.end(state.run)
