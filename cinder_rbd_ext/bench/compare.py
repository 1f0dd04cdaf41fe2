#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Compares two results of one plan, such as before and after a change."""

import dataclasses

from cinder_rbd_ext.bench import facts
from cinder_rbd_ext.bench import fields
from cinder_rbd_ext.bench import results
from cinder_rbd_ext.bench import steady

FASTER = 'faster'
SLOWER = 'slower'
SAME = 'no difference'
UNCERTAIN = 'single measurements'
#: A smaller change does not count, even if measurements do not overlap.
_NOISE = 0.05


@dataclasses.dataclass(frozen=True)
class Change:
    """A combination in both results.

    :ivar ratio: median rate of the second to that of the first
    """

    cell: str
    first: steady.Spread
    second: steady.Spread
    ratio: float
    verdict: str


def compare(first: results.Results, second: results.Results) -> list[Change]:
    """Return the change of each combination that both results have.

    :raises OptionError: if they are of different plans or settings
    """
    if (first.plan_name, first.settings) != (
        second.plan_name,
        second.settings,
    ):
        raise fields.refused(
            'FOLDER',
            f'{second.plan_name}, {second.settings}',
            'a different plan, or different settings',
            f'{first.plan_name}, {first.settings}',
        )
    before, after = first.rates(), second.rates()
    return [
        _change(cell, before[cell], after[cell])
        for cell in before
        if cell in after
    ]


def _change(cell: str, before: list[float], after: list[float]) -> Change:
    one, other = steady.spread(before), steady.spread(after)
    ratio = other.median / one.median
    return Change(cell, one, other, ratio, verdict(one, other, ratio))


def verdict(one: steady.Spread, other: steady.Spread, ratio: float) -> str:
    """Return what measurements allow to say about a change.

    :param ratio: how many times as fast the other is
    """
    if min(one.count, other.count) < 2:
        return UNCERTAIN
    if one.overlaps(other) or abs(ratio - 1) < _NOISE:
        return SAME
    return FASTER if ratio > 1 else SLOWER


def differences(
    first: results.Results, second: results.Results
) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, by their names."""
    before = facts.flat(first.environment)
    after = facts.flat(second.environment)
    return {
        name: (before.get(name, ''), after.get(name, ''))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
        and name not in ('time', 'client.load_average')
    }
