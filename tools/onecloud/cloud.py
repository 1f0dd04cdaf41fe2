# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The cloud: its services brought up in order, and taken down."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import functools
import http.client
import pathlib
import socket
import subprocess
import time

import jinja2

from onecloud import errors
from onecloud import packages
from onecloud import processes
from onecloud import schedule
from onecloud import services
from onecloud import supervise
from onecloud.api import Api
from onecloud.api import KEYSTONE
from onecloud.api import REGION
from onecloud.progress import Progress
from onecloud.service import CatalogEntry
from onecloud.service import Program
from onecloud.service import Service
from onecloud.state import State
from onecloud.state import write_private
from onecloud.venvs import Venv

_TEMPLATES = pathlib.Path(__file__).parent / 'templates'
# Programs that stand before the system's own of the same name.
_SHIMS = pathlib.Path(__file__).parent / 'shims'
_SYSTEM_PATH = '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin'
# A start on a machine that is busy with something else.
_PATIENCE = 180.0
# Of a process of an API. Before this release they run on eventlet, where the
# answer to a message of one thread comes in at another and is never seen.
_THREADS = 4
_OFF_EVENTLET = '2026.2'


class Cloud:
    """All services of one release in one state folder."""

    def __init__(self, state: State, release: str) -> None:
        self.state = state
        self.release = release
        self.venv = Venv(state, release)
        self.supervisor = supervise.Supervisor(state, self.environ())
        self.services = [make(self) for make in services.ALL]
        self.api = Api(state.secret('admin'))
        loader = jinja2.FileSystemLoader(_TEMPLATES)
        # No autoescaping: these are configuration files, not web pages.
        self._templates = jinja2.Environment(  # noqa: S701
            loader=loader,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def environ(self) -> dict[str, str]:
        """Return the environment of everything that runs in the cloud.

        Nothing is taken from the caller's: a PYTHONPATH, a proxy or an
        OS_* of theirs must not reach the services.
        """
        folders = (self.state.bin, _SHIMS, self.venv.path / 'bin')
        path = ':'.join(map(str, (*folders, _SYSTEM_PATH)))
        return {
            'HOME': str(self.state.data / 'home'),
            'LANG': 'C.UTF-8',
            'PATH': path,
            processes.MARK: str(self.state.run),
        }

    def service(self, name: str) -> Service:
        """Return a service by its name."""
        return next(each for each in self.services if each.name == name)

    def catalog(self) -> list[CatalogEntry]:
        """Return what belongs into Keystone's catalog."""
        return [entry for each in self.services for entry in each.catalog]

    # For services.

    def render(
        self, template: str, target: pathlib.Path, **values: object
    ) -> pathlib.Path:
        """Write a configuration file from its template."""
        text = self._templates.get_template(f'{template}.j2').render(
            state=self.state,
            venv=self.venv.path,
            secret=self.state.secret,
            keystone=KEYSTONE,
            region=REGION,
            **values,
        )
        write_private(target, text)
        return target

    def execute(self, name: str, *command: str, **environ: str) -> None:
        """Run a command of the cloud to its end; keep what it says."""
        log = self.state.log / f'{name}.log'
        with log.open('a') as out:
            done = subprocess.run(
                command,
                env={**self.environ(), **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
        if done.returncode:
            tail = '\n  '.join(log.read_text().splitlines()[-10:])
            raise errors.SandboxError(
                f'{name} failed with {done.returncode}. The end of '
                f'{log}:\n  {tail}'
            )

    def uwsgi(
        self,
        service: Service,
        environ: Mapping[str, str],
        inputs: tuple[pathlib.Path, ...],
        loads_suite: bool = False,
        name: str = '',
    ) -> Program:
        """Return the program of a service's API, or of what it is else."""
        ini = service.etc / 'uwsgi.ini'
        return Program(
            name or f'{service.name}-api',
            (self.venv.program('uwsgi'), '--ini', str(ini)),
            environ,
            inputs=(*inputs, ini, self.venv.stamp),
            loads_suite=loads_suite,
        )

    def render_uwsgi(
        self,
        service: Service,
        module: str,
        *,
        workers: int = 1,
        chunked: bool = False,
        pyargv: str = '',
        static: pathlib.Path | None = None,
    ) -> None:
        """Write what uWSGI needs to serve a service's API.

        :param static: a folder to serve as /static
        """
        threads = _THREADS if self.release >= _OFF_EVENTLET else 1
        self.render(
            'uwsgi.ini',
            service.etc / 'uwsgi.ini',
            port=service.ports[0],
            module=module,
            processes=max(workers, 2 if threads == 1 else 1),
            threads=threads,
            chunked=chunked,
            pyargv=pyargv,
            static=static,
        )

    def wait_port(self, service: Service, port: int) -> None:
        """Wait until a service listens; give up at once if it died."""

        def listens() -> bool:
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', port), 1).close()
                return True
            return False

        self._wait(service, f'listen on port {port}', listens)

    def wait_http(self, service: Service, path: str) -> None:
        """Wait until a service's API answers."""

        def answers() -> bool:
            connection = http.client.HTTPConnection(
                '127.0.0.1', service.ports[0], timeout=5
            )
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request('GET', path)
                return connection.getresponse().status < 500
            return False

        self._wait(service, f'answer {path}', answers)

    def _wait(
        self, service: Service, what: str, there: Callable[[], bool]
    ) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not there():
            for program in service.programs():
                self.supervisor.check(program.name)
            if time.monotonic() > deadline:
                raise errors.SandboxError(
                    f'{service.name} does not {what} after '
                    f'{_PATIENCE:.0f} s; see {self.state.log}'
                )
            time.sleep(0.1)

    # Up and down.

    def up(self, progress: Progress) -> None:
        """Bring everything up that is not; safe to call again."""
        self.state.release = self.release
        suite = self._install(progress)
        with progress.step('configuration'):
            if not self.supervisor.is_up():
                # Left by a supervisor that was killed.
                processes.end(self.state.run)
            self._write_shims()
            for each in self.services:
                each.render()
            self.supervisor.up(
                [
                    program
                    for each in self.services
                    for program in each.programs()
                ],
                suite,
            )
        schedule.run(self._tasks(progress))

    def _install(self, progress: Progress) -> str:
        if missing := packages.missing('sandbox'):
            with progress.step(f'{len(missing)} Debian packages'):
                packages.install(missing, self.state.log / 'apt.log')
        with progress.step(f'OpenStack {self.release}'):
            self.venv.install(
                name for each in self.services for name in each.distributions
            )
        with progress.step('our distribution'):
            suite, _ = self.venv.install_suite()
        return suite

    def _write_shims(self) -> None:
        (self.state.data / 'home').mkdir(mode=0o700, exist_ok=True)
        for name in ('sudo', 'with-etc-ceph'):
            target = self.state.bin / name
            self.render(name, target, etc=self.service('ceph').etc)
            target.chmod(0o700)

    def _tasks(self, progress: Progress) -> Sequence[schedule.Task]:
        def task(
            name: str, action: str, needs: set[str], each: Service
        ) -> schedule.Task:
            return schedule.Task(
                name,
                functools.partial(self._step, progress, name, each, action),
                frozenset(needs),
            )

        tasks = []
        for each in self.services:
            name = each.name
            begin = {f'{other} ready' for other in each.initialise_after}
            ready = {f'{other} ready' for other in each.requires}
            last = {f'{other} known' for other in each.introduce_after}
            tasks += [
                task(f'{name} initialised', 'initialise', begin, each),
                task(
                    f'{name} ready',
                    'start',
                    ready | {f'{name} initialised'},
                    each,
                ),
                task(
                    f'{name} known',
                    'introduce',
                    last | {f'{name} ready'},
                    each,
                ),
            ]
        return tasks

    def _step(
        self, progress: Progress, name: str, each: Service, action: str
    ) -> None:
        if getattr(type(each), action) is getattr(Service, action) and (
            action != 'start'
        ):
            # Nothing to do, so nothing to show.
            return
        with progress.step(name):
            getattr(each, action)()
            if action == 'start':
                each.wait()
