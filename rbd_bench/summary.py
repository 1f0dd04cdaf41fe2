# SPDX-License-Identifier: Apache-2.0

"""Summary of the results: tables of ratios, with their winners."""

from collections.abc import Mapping
import dataclasses

from rbd_bench import interference
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import steady
from rbd_bench import table_rows
from rbd_bench import winners


@dataclasses.dataclass(frozen=True)
class Table:
    """All variants with one load.

    :ivar load: the load that the rows have in common
    :ivar rows: the first is the baseline
    :ivar decision: which row won; without a winner and a problem, no row is
        clearly faster than the baseline
    :ivar scaling: whether the rows are the loads of one variant, which differ
        in the requests in flight
    """

    run: plan.Run
    load: str
    rows: tuple[table_rows.Row, ...]
    decision: winners.Decision
    scaling: bool = False

    @property
    def winner(self) -> table_rows.Row | None:
        """The row that won."""
        return self.decision.winner

    @property
    def best(self) -> table_rows.Row:
        """The winner, or the baseline."""
        return self.winner or self.rows[0]


def tables(whole_plan: plan.Plan, measured: results.Results) -> list[Table]:
    """Return a table for each run and load that was measured."""
    by_cell: dict[str, list[results.Sample]] = {}
    for sample in measured.samples:
        by_cell.setdefault(sample.cell, []).append(sample)
    groups: dict[tuple[object, ...], list[matrix.Cell]] = {}
    for cell in matrix.cells(whole_plan):
        if cell.ident in by_cell:
            load = None if cell.run.is_scaling else matrix.load(cell.values)
            groups.setdefault((cell.run.name, load), []).append(cell)
    is_disturbed = bool(interference.find(measured))
    return [
        _scaling(group, by_cell)
        if group[0].run.is_scaling
        else _table(group, by_cell, is_disturbed)
        for group in groups.values()
    ]


def _scaling(
    group: list[matrix.Cell], by_cell: Mapping[str, list[results.Sample]]
) -> Table:
    """Return a table with a row for each load of the only variant."""
    rows = _rows(group, by_cell, ['workload'])
    # Loads are no variants, of which one could win.
    none = winners.Decision()
    return Table(
        group[0].run, 'by requests in flight', rows, none, scaling=True
    )


def _table(
    group: list[matrix.Cell],
    by_cell: Mapping[str, list[results.Sample]],
    is_disturbed: bool,
) -> Table:
    run = group[0].run
    varied = [
        axis
        for axis in plan.values(run)
        if axis not in matrix.LOAD
        and len({cell.values[axis] for cell in group}) > 1
    ]
    rows = _rows(group, by_cell, varied)
    load = ', '.join(value for _, value in matrix.load(group[0].values))
    decision = winners.decide(rows)
    if is_disturbed:
        decision = winners.Decision(problem=steady.DISTURBED)
    return Table(run, load, rows, decision)


def _rows(
    group: list[matrix.Cell],
    by_cell: Mapping[str, list[results.Sample]],
    varied: list[str],
) -> tuple[table_rows.Row, ...]:
    baseline = table_rows.spread(by_cell[group[0].ident])
    return tuple(
        table_rows.row(cell, by_cell[cell.ident], baseline, varied)
        for cell in group
    )
