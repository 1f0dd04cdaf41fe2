# SPDX-License-Identifier: Apache-2.0

"""The contract of the services of the cloud (services/*.py).

``up`` runs three steps for a service. Each step runs after the services that
the named attribute lists:

1. :meth:`Service.initialise`, after :attr:`Service.initialise_after` are
   ready, creates what the startup requires (a schema, a key); actions that
   must run only once use ``state.once``.
2. :meth:`Service.start`, after :attr:`Service.requires` are ready, starts
   the programs. :meth:`Service.wait` returns when clients can use them.
3. :meth:`Service.introduce`, after :attr:`Service.introduce_after` are
   introduced, registers it with other services (catalog, users, volume
   types).

Before these steps :meth:`Service.render` writes all configuration files.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import dataclasses
import http.client
import pathlib
import socket
import time
from typing import Any
from typing import ClassVar
from typing import TYPE_CHECKING

from sandbox_cloud import errors
from sandbox_cloud.program import Program

if TYPE_CHECKING:
    # preflight only reads the ports and runs without jinja2.
    from sandbox_cloud.runtime import Runtime

# Seconds for a start on a busy machine: a program that ends is seen at once.
_PATIENCE = 600.0
# Threads of an API process. Before this release, APIs run on eventlet, where
# another thread receives the answer to a message of a thread and loses it.
_THREADS = 4
_OFF_EVENTLET = '2026.2'


@dataclasses.dataclass(frozen=True)
class CatalogEntry:
    """An OpenStack service in Keystone's catalog."""

    name: str
    type: str
    url: str


class Service(abc.ABC):
    """One service; see the module's docstring for the order of its steps."""

    name: ClassVar[str]
    #: Ports on 127.0.0.1; the first is the main port.
    ports: ClassVar[tuple[int, ...]] = ()
    initialise_after: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[tuple[str, ...]] = ()
    introduce_after: ClassVar[tuple[str, ...]] = ()
    #: A path that its API answers without authentication, if it has an API.
    health: ClassVar[str | None] = None
    #: Distributions from PyPI that the release's venv must contain.
    distributions: ClassVar[tuple[str, ...]] = ()
    #: The names of its databases.
    databases: ClassVar[tuple[str, ...]] = ()
    #: Its entries in Keystone's catalog. With entries, it has a service user.
    catalog: ClassVar[tuple[CatalogEntry, ...]] = ()

    def __init__(
        self, runtime: Runtime, services: Mapping[str, Service]
    ) -> None:
        """Set the cloud of the service.

        :param services: all services of the cloud by name; incomplete until
            all of them are created
        """
        self.runtime = runtime
        self.services = services
        self.state = runtime.state

    @property
    def etc(self) -> pathlib.Path:
        """Its configuration folder."""
        return self.state.etc / self.name

    @property
    def data(self) -> pathlib.Path:
        """Its data folder."""
        return self.state.data / self.name

    @abc.abstractmethod
    def programs(self) -> tuple[Program, ...]:
        """Return its programs, in startup order."""

    def render(self) -> None:  # noqa: B027 - steps may be empty
        """Write its configuration; runs at each ``up``."""

    def initialise(self) -> None:  # noqa: B027
        """Create what its programs require to start."""

    def start(self) -> None:
        """Start its programs, except those that already run."""
        for program in self.programs():
            self.runtime.supervisor.start(program.name)

    def wait(self) -> None:
        """Wait until it can be used."""
        for port in self.ports:
            self._wait_port(port)
        if self.health:
            # uWSGI listens before the application is loaded.
            self._wait_http(self.health)

    def introduce(self) -> None:  # noqa: B027
        """Register it with other services."""

    # For subclasses.

    def uwsgi(
        self,
        environ: Mapping[str, str],
        inputs: tuple[pathlib.Path, ...],
        loads_suite: bool = False,
        name: str = '',
    ) -> Program:
        """Return the uWSGI program of its API or web application."""
        ini = self.etc / 'uwsgi.ini'
        return Program(
            name or f'{self.name}-api',
            (self.runtime.venv.program('uwsgi'), '--ini', str(ini)),
            environ,
            inputs=(*inputs, ini, self.runtime.venv.stamp),
            loads_suite=loads_suite,
        )

    def render_uwsgi(
        self,
        module: str,
        *,
        workers: int = 1,
        chunked: bool = False,
        pyargv: str = '',
        static: pathlib.Path | None = None,
    ) -> None:
        """Write the uWSGI configuration of its API.

        :param static: a folder to serve as /static
        """
        threads = _THREADS if self.runtime.release >= _OFF_EVENTLET else 1
        self.runtime.render(
            'uwsgi.ini',
            self.etc / 'uwsgi.ini',
            port=self.ports[0],
            module=module,
            processes=max(workers, 2 if threads == 1 else 1),
            threads=threads,
            chunked=chunked,
            pyargv=pyargv,
            static=static,
        )

    def _wait_port(self, port: int) -> None:
        """Wait until it listens; fail immediately if it has died."""

        def listens() -> bool:
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', port), 1).close()
                return True
            return False

        self._wait(f'listen on port {port}', listens)

    def _wait_http(self, path: str) -> None:
        """Wait until its API answers."""

        def answers() -> bool:
            connection = http.client.HTTPConnection(
                '127.0.0.1', self.ports[0], timeout=5
            )
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request('GET', path)
                return connection.getresponse().status < 500
            return False

        self._wait(f'answer {path}', answers)

    def _wait(self, what: str, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not is_ready():
            for program in self.programs():
                self.runtime.supervisor.check(program.name)
            if time.monotonic() > deadline:
                raise errors.SandboxError(
                    f'{self.name} does not {what} after '
                    f'{_PATIENCE:.0f} s; see {self.state.log}'
                )
            time.sleep(0.1)


class OpenStackService(Service):
    """A service with a configuration file, an API and a schema."""

    #: The module of its API for uWSGI.
    wsgi: ClassVar[str]
    #: The program that manages its database, and the arguments that create
    #: its schema.
    schema: ClassVar[tuple[str, ...]]
    initialise_after: ClassVar[tuple[str, ...]] = ('mariadb',)

    @property
    def conf(self) -> pathlib.Path:
        """Its configuration file."""
        return self.etc / f'{self.name}.conf'

    @property
    def api_environ(self) -> dict[str, str]:
        """The variables that tell its API the configuration file."""
        return {f'OS_{self.name.upper()}_CONFIG_DIR': str(self.etc)}

    def render(self) -> None:
        """Write its configuration."""
        self.runtime.render(
            self.conf.name, self.conf, data=self.data, **self.values()
        )
        self.render_uwsgi(self.wsgi, **self.uwsgi_options)

    @property
    def uwsgi_options(self) -> dict[str, Any]:
        """Options of :meth:`render_uwsgi`."""
        return {}

    def values(self) -> dict[str, object]:
        """Return further values of its configuration."""
        return {}

    def programs(self) -> tuple[Program, ...]:
        """Return the API."""
        return (self.uwsgi(self.api_environ, (self.conf,)),)

    def initialise(self) -> None:
        """Create its schema."""
        self.state.once(f'{self.name}-schema', self._sync)

    def _sync(self) -> None:
        self.manage(*self.schema)

    def manage(self, program: str, *arguments: str, **environ: str) -> None:
        """Run a management program with its configuration file."""
        conf = ('--config-file', str(self.conf))
        path = self.runtime.venv.program(program)
        self.runtime.execute(program, path, *conf, *arguments, **environ)
