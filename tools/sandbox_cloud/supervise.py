# SPDX-License-Identifier: Apache-2.0

"""The supervisor: supervisord on a private socket.

supervisord is maintained, does not require systemd, restarts processes that
die, and keeps logs. Only its daemon comes from PyPI; the sandbox communicates
with it through the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import hashlib
import http.client
import pathlib
import shlex
import socket
import subprocess
import time
from typing import Any
import xmlrpc.client

from sandbox_cloud import errors
from sandbox_cloud.program import Program
from sandbox_cloud.state import State
from sandbox_cloud.state import write_private

_RUNNING = ('RUNNING', 'STARTING')
_FAILED = ('BACKOFF', 'EXITED', 'FATAL')

_CONF = """\
[supervisord]
logfile = {log}/supervisord.log
pidfile = {run}/supervisord.pid
childlogdir = {log}
directory = {run}
umask = 077
nodaemon = false
silent = true

[unix_http_server]
file = {run}/supervisor.sock
chmod = 0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = \
supervisor.rpcinterface:make_main_rpcinterface

[include]
files = {run}/programs/*.conf
"""

_PROGRAM = """\
[program:{name}]
command = {command}
environment = {environ}
autostart = false
autorestart = true
startsecs = 1
stopwaitsecs = 5
stopasgroup = true
killasgroup = true
redirect_stderr = true
stdout_logfile = {log}/{name}.log
stdout_logfile_maxbytes = 20MB
stdout_logfile_backups = 1
"""

# The command that starts programs. supervisord polls a descriptor while its
# number is in use, even if the number now refers to a program's standard
# input. When no process reads from it, supervisord polls without a pause and
# uses a whole processor: https://github.com/Supervisor/supervisor/issues/807
# Most services close their standard input, so a copy of it stays open.
_HOLDER = ('/bin/sh', '-c', 'exec "$0" "$@" 9<&0 </dev/null')


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__('localhost')
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class _Transport(xmlrpc.client.Transport):
    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self._path = str(path)

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        return _Connection(self._path)


def _quoted(text: str) -> str:
    # supervisord expands %(...)s in its configuration.
    return text.replace('%', '%%')


class Supervisor:
    """The sandbox's supervisord."""

    def __init__(self, state: State, environ: Mapping[str, str]) -> None:
        self._state = state
        self._environ = dict(environ)
        self._socket = state.run / 'supervisor.sock'

    def _call(self, method: str, *args: Any) -> Any:
        # One connection per call: several threads call at the same time.
        proxy = xmlrpc.client.ServerProxy(
            'http://localhost/RPC2', _Transport(self._socket)
        )
        with proxy:
            return getattr(proxy.supervisor, method)(*args)

    def is_up(self) -> bool:
        """Return whether supervisord answers."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._call('getState')
            return True
        return False

    def up(self, programs: Sequence[Program], suite: str) -> None:
        """Run supervisord with these programs; do not start them.

        Stops running programs whose command, configuration or code has
        changed.

        :param suite: an identifier of the state of our distribution
        """
        folder = self._state.run / 'programs'
        folder.mkdir(exist_ok=True)
        wanted = {f'{program.name}.conf' for program in programs}
        for stale in folder.iterdir():
            if stale.name not in wanted:
                stale.unlink()
        for program in programs:
            text = self._program(program, suite)
            write_private(folder / f'{program.name}.conf', text)
        if self.is_up():
            self.reload()
        else:
            self._launch()

    def _program(self, program: Program, suite: str) -> str:
        digest = hashlib.sha256(suite.encode() if program.loads_suite else b'')
        for path in program.inputs:
            digest.update(path.read_bytes())
        # The program ignores it: a new value lets supervisord detect a
        # changed program.
        environ = {
            **self._environ,
            **program.environ,
            'ONECLOUD_INPUTS': digest.hexdigest(),
        }
        return _PROGRAM.format(
            name=program.name,
            command=_quoted(shlex.join((*_HOLDER, *program.command))),
            environ=','.join(
                f'{key}="{_quoted(value)}"' for key, value in environ.items()
            ),
            log=self._state.log,
        )

    def _launch(self) -> None:
        conf = self._state.run / 'supervisord.conf'
        text = _CONF.format(log=self._state.log, run=self._state.run)
        write_private(conf, text)
        daemon = self._state.boot / 'bin' / 'supervisord'
        subprocess.run(
            [daemon, '--configuration', conf],
            env=self._environ,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        deadline = time.monotonic() + 20
        while not self.is_up():
            if time.monotonic() > deadline:
                raise errors.SandboxError(
                    f'supervisord does not answer; see {self._state.log}'
                )
            time.sleep(0.05)

    def reload(self) -> None:
        """Stop programs whose configuration has changed; add and remove."""
        ((added, changed, removed),) = self._call('reloadConfig')
        gone = (*changed, *removed)
        for name in gone:
            self._call('stopProcessGroup', name, False)
        self._wait_stopped(gone)
        for name in gone:
            self._call('removeProcessGroup', name)
        for name in (*added, *changed):
            self._call('addProcessGroup', name)

    def _wait_stopped(self, names: Iterable[str], grace: float = 20) -> None:
        deadline = time.monotonic() + grace
        waited = set(names)
        while time.monotonic() < deadline and any(
            info['pid']
            for name, info in self.processes().items()
            if name in waited
        ):
            time.sleep(0.1)

    def processes(self) -> dict[str, dict[str, Any]]:
        """Return supervisord's information about each program."""
        return {info['name']: info for info in self._call('getAllProcessInfo')}

    def start(self, name: str) -> None:
        """Start a program, unless it already runs."""
        info = self._call('getProcessInfo', name)
        if info['statename'] not in _RUNNING:
            with contextlib.suppress(FileNotFoundError):
                self._log(name).unlink()
                self._call('clearProcessLogs', name)
            self._call('startProcess', name, False)

    def stop(self, name: str) -> None:
        """Stop a program, without a time limit."""
        self._call('stopProcess', name)

    def check(self, name: str) -> None:
        """Raise an error with the reason if a program has died."""
        info = self._call('getProcessInfo', name)
        if info['statename'] in _FAILED:
            lines = self._log(name).read_text(errors='replace').splitlines()
            tail = '\n'.join(f'  {line}' for line in lines[-15:])
            raise errors.SandboxError(
                f'{name} does not run ({info["statename"]}: '
                f'{info["spawnerr"] or info["description"]}). '
                f'The end of {self._log(name)}:\n{tail}'
            )

    def _log(self, name: str) -> pathlib.Path:
        return self._state.log / f'{name}.log'

    def down(self, grace: float = 3) -> None:
        """Stop all programs in parallel, then supervisord."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._call('stopAllProcesses', False)
            self._wait_stopped(self.processes(), grace)
            self._call('shutdown')
