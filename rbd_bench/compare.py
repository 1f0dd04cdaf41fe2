# SPDX-License-Identifier: Apache-2.0

"""Compares two results of one plan, such as before and after a change."""

import dataclasses

from rbd_bench import fields
from rbd_bench import interference
from rbd_bench import results
from rbd_bench import steady
from rbd_bench import stored

FASTER = 'faster'
SLOWER = 'slower'
#: A smaller change does not count, even if measurements do not overlap.
_NOISE = 0.05


@dataclasses.dataclass(frozen=True)
class Change:
    """A combination in one or both results.

    :ivar first: the measurements of the first; None without any
    :ivar second: the measurements of the second, as well
    :ivar ratio: median rate of the second to that of the first; None if one is
        missing
    """

    cell: str
    first: steady.Spread | None
    second: steady.Spread | None
    ratio: float | None
    verdict: str


def compare(first: results.Results, second: results.Results) -> list[Change]:
    """Return the change of each combination.

    :raises OptionError: if the plans or the settings differ, or if no
        combination was measured in both
    """
    if changed := stored.differences(first.whole_plan, second.whole_plan):
        raise fields.refused(
            'SECOND',
            second.plan_name,
            f'different plans or settings ({stored.joined(changed)})',
            'results of the plan and the settings of FIRST',
        )
    before, after = first.rates(), second.rates()
    is_disturbed = any(map(interference.find, (first, second)))
    compared = [
        _change(cell, before.get(cell), after.get(cell), is_disturbed)
        for cell in dict.fromkeys([*before, *after])
    ]
    if all(each.ratio is None for each in compared):
        raise fields.refused(
            'SECOND',
            second.plan_name,
            'no combination was measured in both results',
            'results that have a combination in common',
        )
    return compared


def _change(
    cell: str,
    before: list[float] | None,
    after: list[float] | None,
    is_disturbed: bool,
) -> Change:
    one = steady.spread(before) if before else None
    other = steady.spread(after) if after else None
    if one and other:
        ratio = other.median / one.median
        said = verdict(one, other, ratio)
        if is_disturbed:
            said = steady.DISTURBED
        return Change(cell, one, other, ratio, said)
    reasons = [
        f'{"not measured" if rates is None else "failed"} in the {name}'
        for name, rates in (('first', before), ('second', after))
        if not rates
    ]
    return Change(cell, one, other, None, ', '.join(reasons))


def verdict(one: steady.Spread, other: steady.Spread, ratio: float) -> str:
    """Return what measurements allow to say about a change.

    :param ratio: how many times as fast the other is
    """
    if not one.is_comparable(other):
        return steady.UNDECIDED
    if one.overlaps(other) or abs(ratio - 1) < _NOISE:
        return steady.NOT_SHOWN
    return FASTER if ratio > 1 else SLOWER


def differences(
    first: results.Results, second: results.Results
) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, by their names."""
    before, after = _facts(first), _facts(second)
    return {
        name: (before.get(name, ''), after.get(name, ''))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
        and name not in ('time', 'client.load_average')
    }


def _facts(measured: results.Results) -> dict[str, str]:
    return {'cluster': measured.fsid, **stored.flat(measured.environment)}
