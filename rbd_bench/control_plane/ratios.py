# SPDX-License-Identifier: Apache-2.0

"""Ratios of two volume types, from the results of rally."""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any

from rbd_bench import compare
from rbd_bench import steady
from rbd_bench.control_plane import plan
from rbd_bench.control_plane import tasks

NOT_MEASURED = 'not measured'


@dataclasses.dataclass(frozen=True)
class Sample:
    """The results of a workload.

    :ivar title: identifies the workload
    :ivar seconds: durations of each action, by its name in rally, without
        failed actions
    :ivar iterations: number of iterations that have ended
    :ivar failed: number of those that failed
    :ivar error: why the first of them failed
    """

    title: str
    seconds: dict[str, list[float]]
    iterations: int
    failed: int
    error: str = ''


@dataclasses.dataclass(frozen=True)
class Side:
    """An action with one volume type.

    :ivar median: seconds, of all iterations of all rounds
    :ivar rounds: the medians of the rounds
    :ivar iterations: number of iterations, including failed ones
    """

    median: float
    rounds: steady.Spread
    iterations: int
    failed: int


@dataclasses.dataclass(frozen=True)
class Row:
    """An action at a level.

    :ivar first: the first volume type; None if nothing was measured
    :ivar second: the second volume type, as well
    :ivar ratio: how many times as fast the second is
    :ivar verdict: what the spread of the rounds allows to say
    """

    scenario: str
    action: str
    at_once: int
    first: Side | None
    second: Side | None
    ratio: float | None
    verdict: str
    failed: int


def samples(report: Any) -> Iterator[Sample]:
    """Yield the results of each workload of a report of rally.

    :param report: what ``rally task report --json`` has written
    """
    for task in report['tasks']:
        for subtask in task['subtasks']:
            for workload in subtask['workloads']:
                yield _sample(subtask['title'], workload['data'])


def _sample(title: str, iterations: Sequence[Any]) -> Sample:
    seconds: dict[str, list[float]] = {}
    errors = []
    for each in iterations:
        if each['error']:
            errors.append(': '.join(map(str, each['error'][:2])))
        # Actions inside of other actions are not counted twice.
        for action in each['atomic_actions']:
            if not action.get('failed'):
                took = action['finished_at'] - action['started_at']
                seconds.setdefault(action['name'], []).append(took)
    return Sample(
        title,
        seconds,
        len(iterations),
        len(errors),
        errors[0] if errors else '',
    )


def rows(
    whole_plan: plan.Plan, choices: tasks.Choices, samples: Sequence[Sample]
) -> list[Row]:
    """Return the actions of all scenarios and levels.

    :param samples: the results of all workloads
    """
    by_title = {each.title: each for each in samples}
    return [
        _row(whole_plan, scenario, level, name, action, by_title)
        for scenario in tasks.scenarios(whole_plan, choices)
        for name, action in scenario.actions.items()
        for level in scenario.levels(whole_plan.settings)
    ]


def _row(
    whole_plan: plan.Plan,
    scenario: plan.Scenario,
    level: int,
    name: str,
    action: str,
    by_title: dict[str, Sample],
) -> Row:
    sides = []
    failed = 0
    for side in (tasks.FIRST, tasks.SECOND):
        titles = [
            tasks.Workload(scenario, level, side, number).title
            for number in range(whole_plan.settings.rounds)
        ]
        chosen = [by_title[title] for title in titles if title in by_title]
        failed += sum(each.failed for each in chosen)
        sides.append(_side(action, chosen))
    first, second = sides
    ratio = None
    verdict = NOT_MEASURED
    if first and second and second.median > 0:
        ratio = first.median / second.median
        verdict = compare.verdict(first.rounds, second.rounds, ratio)
    return Row(
        scenario.name, name, level, first, second, ratio, verdict, failed
    )


def _side(action: str, samples: Sequence[Sample]) -> Side | None:
    measured = [each.seconds.get(action, []) for each in samples]
    measured = [each for each in measured if each]
    if not measured:
        return None
    return Side(
        statistics.median(took for each in measured for took in each),
        steady.spread([statistics.median(each) for each in measured]),
        sum(each.iterations for each in samples),
        sum(each.failed for each in samples),
    )
