# SPDX-License-Identifier: Apache-2.0

"""Compares published ratios with measured ones."""

from collections.abc import Mapping
import dataclasses
import math

from rbd_bench import compare as changes
from rbd_bench import explanations
from rbd_bench import interference
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import steady
from rbd_bench import table_rows

REPRODUCED = 'reproduced'
WEAKER = 'same direction, smaller'
LARGER = 'larger than published'
OPPOSITE = 'opposite'
NOT_MEASURED = 'not measured'
NO_FIGURE = 'no figure was published'
#: The parts of a published gain, on a log scale, that count as reproduced.
_LOWEST = 0.5
_HIGHEST = 2.0
_SHORT = (WEAKER, steady.NOT_SHOWN, OPPOSITE)


@dataclasses.dataclass(frozen=True)
class Compared:
    """A published ratio and the measured one.

    :ivar ratio: the measured ratio; None if it was not measured
    :ivar reasons: sentences that explain the measured ratio
    :ivar cells: the two combinations
    """

    published: plan.Published
    ratio: float | None
    verdict: str
    reasons: tuple[str, ...]
    cells: tuple[matrix.Cell, matrix.Cell]

    @property
    def paths(self) -> str:
        """The path of the published figures, and that of the measured ones."""
        return f'{self.published.path or "unknown"}, here {self._path}'

    @property
    def _path(self) -> str:
        return self.cells[0].run.path


def compare(
    whole_plan: plan.Plan, measured: results.Results
) -> list[Compared]:
    """Return each published ratio of a plan with the measured one."""
    return [
        _compare(whole_plan, measured, each) for each in whole_plan.published
    ]


def _compare(
    whole_plan: plan.Plan, measured: results.Results, each: plan.Published
) -> Compared:
    of, to = (
        _side(whole_plan, measured, each.run, values)
        for values in (each.of, each.to)
    )
    if not of.spread or not to.spread:
        reasons = [x.error for x in (of, to) if x.error]
        return Compared(
            each,
            None,
            NOT_MEASURED,
            tuple(dict.fromkeys(reasons)) or ('It was not selected.',),
            (of.cell, to.cell),
        )
    ratio = of.spread.median / to.spread.median
    found_verdict = verdict(each.ratio, of.spread, to.spread)
    if interference.find(measured):
        found_verdict = steady.DISTURBED
    is_short = found_verdict in _SHORT or found_verdict in (
        _words(steady.NOT_SHOWN),
        _words(changes.SLOWER),
    )
    reasons = explanations.explain(each.explain, of, to, measured, is_short)
    path = of.cell.run.path
    if each.path not in ('', path) and found_verdict not in (
        REPRODUCED,
        steady.UNDECIDED,
        steady.DISTURBED,
    ):
        reasons.append(
            f'The path of the published figures is {each.path}, and that of '
            f'the measured ones is {path}.'
        )
    return Compared(
        each, ratio, found_verdict, tuple(reasons), (of.cell, to.cell)
    )


def _side(
    whole_plan: plan.Plan,
    measured: results.Results,
    run: str,
    values: Mapping[str, str],
) -> explanations.Side:
    """Return the first combination that has some values, and its samples."""
    cell = next(
        cell
        for cell in matrix.cells(whole_plan)
        if cell.run.name == run
        and all(cell.values[x] == y for x, y in values.items())
    )
    samples = [x for x in measured.samples if x.cell == cell.ident]
    good = [x for x in samples if not x.error]
    return explanations.Side(
        cell,
        table_rows.spread(samples),
        good[-1].detail if good else {},
        next((x.error for x in samples if x.error), ''),
    )


def verdict(wanted: float | None, of: steady.Spread, to: steady.Spread) -> str:
    """Return whether a measured ratio reproduces a published one."""
    if not of.is_comparable(to):
        return steady.UNDECIDED
    ratio = of.median / to.median
    difference = changes.verdict(to, of, ratio)
    if wanted is None:
        return _words(difference)
    measured, target = math.log(ratio), math.log(wanted)
    if difference == steady.NOT_SHOWN:
        return difference
    part = measured / target if target else math.inf
    if part < 0:
        return OPPOSITE
    if part < _LOWEST:
        return WEAKER
    return REPRODUCED if part <= _HIGHEST else LARGER


def _words(difference: str) -> str:
    """Return the verdict if only words were published."""
    return f'{NO_FIGURE}; measured: {difference}'
