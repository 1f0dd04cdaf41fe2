# SPDX-License-Identifier: Apache-2.0

"""Compares two results of one plan, such as before and after a change."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench import results


def rows(
    first: results.Results, second: results.Results
) -> Iterator[tuple[Any, ...]]:
    """Yield each combination with the medians, their ratio and the overlap.

    The overlap is whether the measurements of both overlap. What one of the
    results does not have is None.

    :raises OptionError: if the plans or the settings differ
    """
    if not first.is_comparable(second):
        raise errors.OptionError(
            'SECOND',
            second.document['name'],
            'different plans or settings',
            'results of the plan and the settings of FIRST',
        )
    for cell in dict.fromkeys(
        each.cell for each in (*first.samples, *second.samples)
    ):
        one, other = first.spread(cell), second.spread(cell)
        yield (
            cell,
            one and round(one.median, 3),
            other and round(other.median, 3),
            round(other.median / one.median, 3) if one and other else None,
            one.overlaps(other) if one and other else None,
        )


def differences(
    first: results.Results, second: results.Results
) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, by their names."""
    before, after = (
        dict(flat(x.environment), cluster=x.fsid) for x in (first, second)
    )
    return {
        name: (before.get(name, ''), after.get(name, ''))
        for name in sorted({*before, *after} - {'time'})
        if before.get(name) != after.get(name)
    }


def flat(nested: Mapping[str, Any]) -> dict[str, str]:
    """Return values as texts, by names such as ``pool.replicas``."""
    return dict(_flat('', nested))


def _flat(where: str, content: Any) -> Iterator[tuple[str, str]]:
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from _flat(f'{where}.{name}' if where else name, value)
    elif isinstance(content, list | tuple):
        yield where, ', '.join(map(str, content))
    else:
        yield where, str(content)
