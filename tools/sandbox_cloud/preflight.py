# SPDX-License-Identifier: Apache-2.0

"""Check whether the sandbox can start, before anything is created.

Uses only the standard library: it runs before anything is installed.
"""

from __future__ import annotations

import os

from sandbox_cloud import errors
from sandbox_cloud import processes
from sandbox_cloud import services
from sandbox_cloud import state


def check(place: state.State, requested: str | None) -> str:
    """Raise an error if the cloud cannot start.

    :param requested: the release that the user requested, if any
    :returns: the release to start
    """
    if os.geteuid() != 0:
        raise errors.SandboxError(
            'The sandbox needs root: it installs packages and gives Cinder '
            'a mount namespace of its own.'
        )
    place.check()
    _check_ports(place)
    return _release(place, requested)


def _release(place: state.State, requested: str | None) -> str:
    running = place.release
    if requested and running not in (None, requested):
        raise errors.SandboxError(
            f'The sandbox runs release {running}. Take it down first: '
            'tools/sandbox down --keep-venv'
        )
    return requested or running or state.releases()[-1]


def _check_ports(place: state.State) -> None:
    ports = [port for each in services.ALL for port in each.ports]
    for listener in processes.listeners(ports):
        if listener.pid and processes.is_ours(listener.pid, place.run):
            continue
        who = f'process {listener.pid} ({listener.command})'
        if listener.pid is None:
            who = 'a process that is not visible to the sandbox'
        raise errors.SandboxError(
            f'Port {listener.port} is taken by {who}, which the sandbox did '
            'not start. Stop it and try again; nothing was changed.'
        )
