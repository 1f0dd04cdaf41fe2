# SPDX-License-Identifier: Apache-2.0

"""The plan: scenarios of rally, and how often they run."""

from collections.abc import Mapping
import dataclasses
import importlib.resources
import pathlib
from typing import Any

from rbd_bench import fields
from rbd_volume_tools.command_line import whole_file

FILE = 'plan.yaml'
_MOST = 1000


@dataclasses.dataclass(frozen=True)
class Settings:
    """How often each scenario runs.

    :ivar size: GiB of each volume
    :ivar rounds: workloads of each scenario, volume type and level
    :ivar times: minimum number of iterations of a workload
    :ivar at_once: levels: numbers of iterations that run at the same time
    :ivar server_times: the same as ``times``, for scenarios with servers
    :ivar servers_at_once: the same as ``at_once``, for scenarios with servers
    :ivar shortest_poll_milliseconds: minimum interval between two queries of
        the status of a volume
    :ivar polls_per_second: maximum number of such queries for all volumes
    """

    size: int
    rounds: int
    times: int
    at_once: tuple[int, ...]
    server_times: int
    servers_at_once: tuple[int, ...]
    shortest_poll_milliseconds: int
    polls_per_second: int

    def poll(self, at_once: int) -> float:
        """Return the seconds between two queries of a volume at a level."""
        return max(
            self.shortest_poll_milliseconds / 1000,
            at_once / self.polls_per_second,
        )


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A scenario of rally.

    :ivar rally: its name in rally
    :ivar arguments: of the scenario, with names such as ``$type``
    :ivar contexts: what rally creates before the workload, with such names
    :ivar volumes: maximum number of volumes for each iteration
    :ivar actions: the actions that are compared, with their names in rally
    :ivar servers: whether each iteration boots a server
    """

    name: str
    rally: str
    arguments: Mapping[str, Any]
    contexts: Mapping[str, Any]
    volumes: int
    actions: Mapping[str, str]
    servers: bool

    def levels(self, settings: Settings) -> tuple[int, ...]:
        """Return the levels at which the scenario runs."""
        return settings.servers_at_once if self.servers else settings.at_once

    def iterations(self, settings: Settings, at_once: int) -> int:
        """Return the number of iterations of a workload at a level."""
        times = settings.server_times if self.servers else settings.times
        return max(times, at_once)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan."""

    name: str
    title: str
    settings: Settings
    scenarios: tuple[Scenario, ...]


def load(path: pathlib.Path | None = None) -> Plan:
    """Return the plan in a file, or the plan of the package.

    :raises OptionError: if there is no such file, or for an invalid value
    """
    if path is None:
        folder = importlib.resources.files(__package__)
        return parse(folder.joinpath(FILE).read_text())
    try:
        text = whole_file.read(path)
    except ValueError as error:
        raise fields.refused(
            '--plan', str(path), str(error), 'the path of a YAML file'
        ) from None
    return parse(text)


def parse(text: str) -> Plan:
    """Return the plan in a text.

    :raises OptionError: for an invalid value
    """
    names = ('name', 'title', 'settings', 'scenarios')
    top = fields.Fields('', fields.from_yaml(text), names)
    scenarios = top.each('scenarios', _scenario)
    if len({each.name for each in scenarios}) < len(scenarios):
        raise fields.refused(
            'scenarios', text, 'duplicate name', 'unique names'
        )
    settings = read_settings('settings', top.raw('settings'))
    return Plan(top.name('name'), top.text('title'), settings, scenarios)


def read_settings(where: str, content: Any) -> Settings:
    """Return settings.

    :param where: what the settings are part of, for errors
    :raises OptionError: for a missing or an invalid value
    """
    names = tuple(each.name for each in dataclasses.fields(Settings))
    section = fields.Fields(where, content, names)

    def level(where: str, value: Any) -> int:
        return fields.number(where, value, 1, _MOST)

    return Settings(
        size=section.number('size', 1, 1024),
        rounds=section.number('rounds', 1, 100),
        times=section.number('times', 1, _MOST),
        at_once=section.each('at_once', level),
        server_times=section.number('server_times', 1, _MOST),
        servers_at_once=section.each('servers_at_once', level),
        shortest_poll_milliseconds=section.number(
            'shortest_poll_milliseconds', 10, 10_000
        ),
        polls_per_second=section.number('polls_per_second', 1, _MOST),
    )


def _scenario(where: str, content: Any) -> Scenario:
    names = tuple(each.name for each in dataclasses.fields(Scenario))
    section = fields.Fields(where, content, names)
    servers = section.raw('servers', False)
    if not isinstance(servers, bool):
        raise fields.refused(
            section.path('servers'), servers, 'not a boolean', 'true, false'
        )
    actions = section.mapping('actions')
    if not actions or not all(isinstance(x, str) for x in actions.values()):
        raise fields.refused(
            section.path('actions'),
            actions,
            'not names of actions',
            'a mapping with the names of actions of rally',
        )
    return Scenario(
        name=section.name('name'),
        rally=section.text('rally'),
        arguments=section.mapping('arguments'),
        contexts=section.mapping('contexts'),
        volumes=section.number('volumes', 1, 100),
        actions={
            fields.name(section.path('actions'), key): value
            for key, value in actions.items()
        },
        servers=servers,
    )
