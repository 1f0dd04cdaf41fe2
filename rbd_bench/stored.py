# SPDX-License-Identifier: Apache-2.0

"""Plans in results: read again, and compared."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_bench import plan
from rbd_bench import workload

#: Parts of a plan that do not affect the measurements.
_TEXTS = ('title', 'source', 'published')
#: Mappings whose first name is the baseline.
_ORDERED = ('layouts', 'features')
#: Differences that a message names.
_SHOWN = 5


def restored(content: Mapping[str, Any]) -> plan.Plan:
    """Return the plan that results contain.

    :param content: the fields of the plan, as JSON has them
    :raises TypeError: for unknown or missing fields
    :raises KeyError: for missing fields
    """
    return plan.Plan(
        **{
            **content,
            'settings': plan.Settings(**content['settings']),
            'runs': tuple(_run(each) for each in content['runs']),
            'published': tuple(
                plan.Published(**{**each, 'explain': tuple(each['explain'])})
                for each in content['published']
            ),
        }
    )


def _run(content: Mapping[str, Any]) -> plan.Run:
    return plan.Run(
        **{
            **content,
            'axes': {axis: tuple(x) for axis, x in content['axes'].items()},
            'workloads': tuple(
                workload.Workload(**each) for each in content['workloads']
            ),
        }
    )


def differences(one: plan.Plan, other: plan.Plan) -> list[str]:
    """Return how the measurements of two plans differ, as texts.

    The texts of a plan and its published ratios may differ.
    """
    return differing(_fields(one), _fields(other))


def differing(
    before: Mapping[str, str], after: Mapping[str, str]
) -> list[str]:
    """Return the values that differ, as texts such as ``pool: a, not b``."""
    return [
        f'{name}: {before.get(name, "nothing")}, '
        f'not {after.get(name, "nothing")}'
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def joined(items: list[str]) -> str:
    """Return the first of several differences in one text."""
    more = len(items) - _SHOWN
    shown = items[:_SHOWN] + ([f'and {more} more'] if more > 0 else [])
    return '; '.join(shown)


def _fields(whole_plan: plan.Plan) -> dict[str, str]:
    fields = dataclasses.asdict(whole_plan)
    return flat({x: y for x, y in fields.items() if x not in _TEXTS})


def flat(nested: Mapping[str, Any]) -> dict[str, str]:
    """Return values as texts, by names such as ``pool.replicas``."""
    return dict(_flat('', nested))


def _flat(where: str, content: Any) -> Iterator[tuple[str, str]]:
    """Yield values as texts, by paths such as ``runs[caches].path``."""
    if isinstance(content, Mapping):
        if where.rpartition('.')[2] in _ORDERED:
            yield where, ', '.join(content)
        for name, value in content.items():
            yield from _flat(f'{where}.{name}' if where else name, value)
    elif isinstance(content, list | tuple) and any(
        isinstance(each, Mapping) for each in content
    ):
        yield where, ', '.join(each['name'] for each in content)
        for each in content:
            yield from _flat(f'{where}[{each["name"]}]', each)
    elif isinstance(content, list | tuple):
        yield where, ', '.join(map(str, content))
    else:
        yield where, str(content)
