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

"""What a service of the cloud is: the contract of services/*.py.

``up`` takes a service through three steps, each after the services that
the named attribute lists:

1. :meth:`Service.initialise`, after :attr:`Service.initialise_after` are
   ready, makes what has to be there before a start (a schema, a key);
   what it does once it wraps in ``state.once``,
2. :meth:`Service.start`, after :attr:`Service.requires` are ready, starts
   the programs; :meth:`Service.wait` returns when clients can use them,
3. :meth:`Service.introduce`, after :attr:`Service.introduce_after` are
   introduced, tells others about it (catalog, users, volume types).

Before all of them :meth:`Service.render` writes every configuration file.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
import dataclasses
import pathlib
from typing import ClassVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onecloud.cloud import Cloud


@dataclasses.dataclass(frozen=True)
class Program:
    """A process under the supervisor."""

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Configuration it reads: it is restarted when their content changes.
    inputs: tuple[pathlib.Path, ...] = ()
    #: It imports our own distribution: restarted when that changes.
    loads_suite: bool = False


@dataclasses.dataclass(frozen=True)
class CatalogEntry:
    """An OpenStack service in Keystone's catalog."""

    name: str
    type: str
    url: str


class Service(abc.ABC):
    """One service; see the module's text for the order of its steps."""

    name: ClassVar[str]
    #: Ports on 127.0.0.1; the first is the one that people ask for.
    ports: ClassVar[tuple[int, ...]] = ()
    initialise_after: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[tuple[str, ...]] = ()
    introduce_after: ClassVar[tuple[str, ...]] = ()
    #: A path that its API answers without a login, if it is one.
    health: ClassVar[str | None] = None
    #: Distributions from PyPI that the release's venv has to hold.
    distributions: ClassVar[tuple[str, ...]] = ()
    #: Names of its databases.
    databases: ClassVar[tuple[str, ...]] = ()
    #: What it adds to Keystone's catalog; it has a service user then.
    catalog: ClassVar[tuple[CatalogEntry, ...]] = ()

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.state = cloud.state

    @property
    def etc(self) -> pathlib.Path:
        """Its folder of configuration."""
        return self.state.etc / self.name

    @property
    def data(self) -> pathlib.Path:
        """Its folder of data."""
        return self.state.data / self.name

    @abc.abstractmethod
    def programs(self) -> tuple[Program, ...]:
        """Return its programs, in the order in which they start."""

    def render(self) -> None:  # noqa: B027 - steps may be empty
        """Write its configuration; runs at each ``up``."""

    def initialise(self) -> None:  # noqa: B027
        """Make what has to be there before its programs start."""

    def start(self) -> None:
        """Start its programs; those that run are left alone."""
        for program in self.programs():
            self.cloud.supervisor.start(program.name)

    def wait(self) -> None:
        """Return when it can be used."""
        for port in self.ports:
            self.cloud.wait_port(self, port)
        if self.health:
            # uWSGI listens before the application is loaded.
            self.cloud.wait_http(self, self.health)

    def introduce(self) -> None:  # noqa: B027
        """Tell other services about it."""
