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


"""Summary of the results: ratios, winners and their volume types."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re
import shlex

from cinder_rbd_ext.bench import matrix
from cinder_rbd_ext.bench import plan
from cinder_rbd_ext.bench import results
from cinder_rbd_ext.bench import steady
from rbd_volume_options import cache_modes
from rbd_volume_options import keys

#: Minimum ratio of a winner's rate to that of the baseline.
WORTH = 1.1
#: Minimum number of measurements of a winner, and of the baseline.
ENOUGH = 3
_TYPE_AXES = ('layout', 'features', plan.CACHE_MODE)


@dataclasses.dataclass(frozen=True)
class Row:
    """A combination and its measurements.

    :ivar ratio: median rate to that of the baseline; None if one is missing
    :ivar clear: whether the measurements of both do not overlap
    :ivar unsteady: number of measurements that were not steady; None if all
        were too short
    """

    cell: matrix.Cell
    label: str
    spread: steady.Spread | None
    ratio: float | None
    clear: bool
    unsteady: int | None
    error: str
    detail: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Table:
    """All variants with one load.

    :ivar load: the load that the rows have in common
    :ivar rows: the first is the baseline
    :ivar winner: the fastest row; None if no row is clearly faster than the
        baseline
    :ivar scaling: whether the rows are the loads of one variant, which differ
        in the requests in flight
    """

    run: plan.Run
    load: str
    rows: tuple[Row, ...]
    winner: Row | None
    scaling: bool = False

    @property
    def best(self) -> Row:
        """The winner, or the baseline."""
        return self.winner or self.rows[0]


def tables(given: plan.Plan, found: results.Results) -> list[Table]:
    """Return a table for each run and load that was measured."""
    by_cell: dict[str, list[results.Sample]] = {}
    for sample in found.samples:
        by_cell.setdefault(sample.cell, []).append(sample)
    groups: dict[tuple[object, ...], list[matrix.Cell]] = {}
    for cell in matrix.cells(given):
        if cell.ident in by_cell:
            load = None if cell.run.is_scaling else matrix.load(cell.values)
            groups.setdefault((cell.run.name, load), []).append(cell)
    return [
        _scaling(group, by_cell)
        if group[0].run.is_scaling
        else _table(group, by_cell)
        for group in groups.values()
    ]


def _scaling(
    group: list[matrix.Cell], by_cell: Mapping[str, list[results.Sample]]
) -> Table:
    """Return a table with a row for each load of the only variant."""
    run, baseline = group[0].run, spread(by_cell[group[0].ident])
    rows = tuple(
        _row(cell, by_cell[cell.ident], baseline, ['workload'])
        for cell in group
    )
    return Table(run, 'by requests in flight', rows, None, scaling=True)


def _table(
    group: list[matrix.Cell], by_cell: Mapping[str, list[results.Sample]]
) -> Table:
    run = group[0].run
    varied = [
        axis
        for axis in plan.values(run)
        if axis not in matrix.LOAD
        and len({cell.values[axis] for cell in group}) > 1
    ]
    baseline = spread(by_cell[group[0].ident])
    rows = tuple(
        _row(cell, by_cell[cell.ident], baseline, varied) for cell in group
    )
    load = ', '.join(value for _, value in matrix.load(group[0].values))
    return Table(run, load, rows, _winner(rows))


def spread(samples: Iterable[results.Sample]) -> steady.Spread | None:
    """Return the spread of the rates; None if nothing was measured."""
    rates = [each.rate for each in samples if not each.error]
    return steady.spread(rates) if rates else None


def _row(
    cell: matrix.Cell,
    samples: list[results.Sample],
    baseline: steady.Spread | None,
    varied: list[str],
) -> Row:
    own = spread(samples)
    good = [each for each in samples if not each.error]
    ratio, clear = None, False
    if own and baseline and baseline.median:
        ratio = own.median / baseline.median
        # Fewer measurements may differ by chance.
        several = min(own.count, baseline.count) >= ENOUGH
        clear = several and not own.overlaps(baseline)
    label = ', '.join(_label(axis, cell.values[axis]) for axis in varied)
    return Row(
        cell,
        label or _label(*next(iter(cell.values.items()))),
        own,
        ratio,
        clear,
        _unsteady(good),
        '' if good else samples[-1].error,
        good[-1].detail if good else {},
    )


def _unsteady(samples: list[results.Sample]) -> int | None:
    found = [steady.check(each.series).steady for each in samples]
    told = [each for each in found if each is not None]
    return told.count(False) if told else None


_LABELS = {
    ('io_thread', 'on'): 'I/O thread',
    ('io_thread', 'off'): 'no I/O thread',
    ('messenger', 'crc'): 'not encrypted',
    ('messenger', 'secure'): 'encrypted',
    ('layout', 'stock'): 'default layout',
}


def _label(axis: str, value: str) -> str:
    return _LABELS.get((axis, value), value)


def _winner(rows: tuple[Row, ...]) -> Row | None:
    """Return the fastest row that can be recommended."""
    fast = [
        row
        for row in rows[1:]
        if row.ratio is not None
        and row.ratio >= WORTH
        and row.clear
        and row.cell.values.get(plan.CACHE_MODE)
        != cache_modes.CacheMode.UNSAFE.value
    ]
    return max(fast, key=lambda row: row.ratio or 0, default=None)


@dataclasses.dataclass(frozen=True)
class VolumeType:
    """A volume type for a winner.

    :ivar loads: the loads that it won
    """

    name: str
    properties: Mapping[str, str]
    loads: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that creates the volume type."""
        words = ['cinder-rbd-ext', 'types', 'ensure', '--name', self.name]
        for key, value in self.properties.items():
            words += ['--property', f'{key}={value}']
        return shlex.join(words)


def volume_types(found: Iterable[Table]) -> list[VolumeType]:
    """Return the volume types of all winners, without duplicates."""
    loads: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for table in found:
        if table.winner and (properties := _properties(table)):
            loads.setdefault(tuple(properties.items()), []).append(table.load)
    return [
        VolumeType(_name(properties), dict(properties), tuple(of))
        for properties, of in loads.items()
    ]


def _properties(table: Table) -> dict[str, str]:
    """Return the keys of a winner that differ from the baseline."""
    winner, base = table.best.cell, table.rows[0].cell
    changed = {
        axis
        for axis in _TYPE_AXES
        if winner.values.get(axis) != base.values.get(axis)
    }
    found: dict[str, str] = {}
    if 'layout' in changed:
        found.update(table.run.layouts[winner.values['layout']])
    if 'features' in changed:
        found.update(table.run.features[winner.values['features']])
    if plan.CACHE_MODE in changed:
        found[keys.CACHE_MODE] = winner.values[plan.CACHE_MODE]
    return found


def _name(properties: Iterable[tuple[str, str]]) -> str:
    words = [
        f'{key.removeprefix(keys.PREFIX)}-{value}' for key, value in properties
    ]
    text = '-'.join(words).lower().replace('_', '-')
    return 'rbd-' + re.sub(r'[^a-z0-9-]+', '-', text)
