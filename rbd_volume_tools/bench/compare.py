# SPDX-License-Identifier: Apache-2.0

"""Compares two results of one plan, such as before and after a change."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench import results


@dataclasses.dataclass(frozen=True)
class Change:
    """A combination in one or both results.

    :ivar first: the measurements of the first; None without any
    :ivar second: the measurements of the second, as well
    """

    cell: str
    first: results.Spread | None
    second: results.Spread | None

    @property
    def ratio(self) -> float | None:
        """Median rate of the second to that of the first; None without."""
        if not self.first or not self.second:
            return None
        return self.second.median / self.first.median

    @property
    def overlaps(self) -> bool | None:
        """Whether the measurements of both overlap; None without."""
        if not self.first or not self.second:
            return None
        return self.first.overlaps(self.second)


def compare(first: results.Results, second: results.Results) -> list[Change]:
    """Return the change of each combination.

    :raises OptionError: if the plans or the settings differ
    """
    if not first.is_comparable(second):
        raise errors.OptionError(
            'SECOND',
            second.document['name'],
            'different plans or settings',
            'results of the plan and the settings of FIRST',
        )
    cells = dict.fromkeys(x.cell for x in (*first.samples, *second.samples))
    return [Change(x, first.spread(x), second.spread(x)) for x in cells]


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
