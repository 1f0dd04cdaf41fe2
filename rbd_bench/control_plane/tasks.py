# SPDX-License-Identifier: Apache-2.0

"""Tasks of rally for a plan."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from rbd_bench.control_plane import plan

#: The two volume types, by their place in the options.
FIRST = 'first'
SECOND = 'second'


@dataclasses.dataclass(frozen=True)
class Choices:
    """What the operator has chosen.

    :ivar types: names of the two volume types
    :ivar image: name of the Glance image of servers; None if scenarios with
        servers are not run
    :ivar flavor: name of their flavor; None as well
    :ivar network: ID of their network; None for no network
    """

    types: tuple[str, str]
    image: str | None = None
    flavor: str | None = None
    network: str | None = None

    @property
    def servers(self) -> bool:
        """Whether scenarios with servers are run."""
        return self.image is not None and self.flavor is not None


@dataclasses.dataclass(frozen=True)
class Workload:
    """Some iterations of a scenario, with one volume type.

    :ivar side: the volume type: :data:`FIRST` or :data:`SECOND`
    :ivar round: the number of the round, from 0
    """

    scenario: plan.Scenario
    at_once: int
    side: str
    round: int

    @property
    def title(self) -> str:
        """The title in rally, which identifies it in the results."""
        return f'{self.scenario.name}/{self.at_once}/{self.side}/{self.round}'


def scenarios(whole_plan: plan.Plan, choices: Choices) -> list[plan.Scenario]:
    """Return the scenarios that are run."""
    return [
        x for x in whole_plan.scenarios if choices.servers or not x.servers
    ]


def levels(whole_plan: plan.Plan, choices: Choices) -> list[int]:
    """Return the levels of the plan. Each has a task of its own."""
    numbers: set[int] = set()
    for each in scenarios(whole_plan, choices):
        numbers.update(each.levels(whole_plan.settings))
    return sorted(numbers)


def workloads(
    whole_plan: plan.Plan, choices: Choices, at_once: int
) -> Iterator[Workload]:
    """Yield the workloads of a level, in their order.

    The types take turns. Each round begins with the other type than the one
    before, so that the order favours neither.
    """
    for number in range(whole_plan.settings.rounds):
        for each in scenarios(whole_plan, choices):
            if at_once in each.levels(whole_plan.settings):
                sides = (FIRST, SECOND)
                for side in sides if number % 2 == 0 else sides[::-1]:
                    yield Workload(each, at_once, side, number)


def task(whole_plan: plan.Plan, choices: Choices, at_once: int) -> Any:
    """Return the task of a level, in rally's format 2."""
    return {
        'version': 2,
        'title': f'{whole_plan.name}, {at_once} at once',
        'subtasks': [
            _subtask(whole_plan, choices, each)
            for each in workloads(whole_plan, choices, at_once)
        ],
    }


def text(content: Any) -> str:
    """Return a task as the text of a file.

    rally renders its files as Jinja2 templates. Names are not templates.
    """
    shown = json.dumps(content, indent=1, ensure_ascii=False)
    return f'{{% raw %}}{shown}{{% endraw %}}\n'


def volumes(whole_plan: plan.Plan, choices: Choices) -> int:
    """Return the maximum number of volumes that exist at a time."""
    most = 0
    for each in scenarios(whole_plan, choices):
        for level in each.levels(whole_plan.settings):
            number = each.iterations(whole_plan.settings, level)
            # One more is the source of clones.
            most = max(most, number * each.volumes + bool(each.contexts))
    return most


def _subtask(
    whole_plan: plan.Plan, choices: Choices, workload: Workload
) -> dict[str, Any]:
    scenario = workload.scenario
    values = {
        '$size': whole_plan.settings.size,
        '$type': choices.types[workload.side == SECOND],
        '$image': choices.image,
        '$flavor': choices.flavor,
        '$nics': [{'net-id': choices.network}] if choices.network else [],
    }
    return {
        'title': workload.title,
        'scenario': {scenario.rally: _filled(scenario.arguments, values)},
        'contexts': _filled(scenario.contexts, values),
        'runner': {
            'constant': {
                'times': scenario.iterations(
                    whole_plan.settings, workload.at_once
                ),
                'concurrency': workload.at_once,
            }
        },
        # A failed iteration is counted in the results. It ends nothing.
        'sla': {'failure_rate': {'max': 100}},
    }


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return arguments with the names replaced by values."""
    if isinstance(template, Mapping):
        return {key: _filled(each, values) for key, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    return (
        values.get(template, template)
        if isinstance(template, str)
        else template
    )
