# SPDX-License-Identifier: Apache-2.0

"""The report: Markdown, a CSV file and plots in the folder of the results."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import dataclasses
import io
import pathlib
import statistics

from rbd_volume_tools.bench import compare
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plots
from rbd_volume_tools.bench import results
from rbd_volume_tools.command_line import whole_file

REPORT = 'report.md'
FIGURES = 'figures.csv'
_HEADERS = (
    *('Variant', 'Ratio', 'Median', 'Mean', 'Deviation', 'Lowest'),
    *('Highest', 'Runs', 'MB/s', 'p99 ms', 'Messenger thread %'),
)
Row = Sequence[object]


def rows(table: results.Table, measured: results.Results) -> Iterator[Row]:
    """Yield the values of a table, with the columns of :data:`_HEADERS`."""
    for label, spread in table.spreads.items():
        samples = measured.of_cell(table.cells[label].ident)
        if spread is None:
            yield label, samples[-1].error
            continue
        details = [x.detail for x in samples if not x.error]

        side = 'read' if 'read_ms_p99' in details[-1] else 'write'
        yield (
            label,
            number(table.ratios.get(label)),
            *map(number, dataclasses.astuple(spread)[:-1]),
            spread.count,
            number(_median(details, 'bytes_per_second', 1e-6)),
            number(_median(details, f'{side}_ms_p99')),
            number(_median(details, 'messenger_percent')),
        )


def _median(
    details: Iterable[Mapping[str, float]], name: str, scale: float = 1.0
) -> float | None:
    values = [detail[name] * scale for detail in details if name in detail]
    return statistics.median(values) if values else None


def number(value: float | None) -> str:
    """Return a number with three significant digits."""
    if value is None:
        return '-'
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'


def published(measured: results.Results) -> Iterator[Row]:
    """Yield each published ratio beside the measured one."""
    for item in measured.plan.published:
        of, to = (
            _side(measured, item.run, side) for side in (item.of, item.to)
        )
        ratio = of.median / to.median if of and to and to.median else None
        lowest = of.low / to.high if of and to and to.high else None
        highest = of.high / to.low if of and to and to.low else None
        (run,) = (x for x in measured.plan.runs if x.name == item.run)
        yield (
            f'{item.name}: {item.statement}',
            f'{item.path}, here {run.path}',
            number(item.ratio),
            number(ratio),
            f'{number(lowest)} to {number(highest)}',
        )


def _side(
    measured: results.Results, run: str, values: Mapping[str, str]
) -> results.Spread | None:
    """Return the measurements of the first combination with some values."""
    for cell in matrix.cells(measured.plan):
        if cell.run.name == run and values.items() <= cell.values.items():
            return measured.spread(cell.ident)
    return None


def write(
    folder: pathlib.Path, measured: results.Results
) -> list[pathlib.Path]:
    """Write the report and return the paths of its files."""
    all_tables = results.tables(measured)
    drawn = plots.draw(folder, all_tables)
    lines = [
        f'# {measured.plan.title}',
        '',
        f'Plan `{measured.plan.name}`: {measured.plan.source}',
    ]
    if measured.plan.published:
        headers = ('Statement', 'Path', 'Published', 'Measured', 'Spread')
        lines += ['', '## Published and measured ratios', '']
        lines += markdown(headers, published(measured))
    for run in measured.plan.runs:
        of_run = [x for x in all_tables if x.run.name == run.name]
        if of_run:
            lines += ['', f'## Run {run.name} ({run.path})']
        for table in of_run:
            lines += ['', f'### {table.load}, operations per second', '']
            lines += markdown(_HEADERS, rows(table, measured))
        lines += [f'\n![{name}]({name})' for name in drawn.get(run.name, ())]
    facts = {
        **compare.flat(measured.environment),
        **compare.flat({'settings': measured.document['settings']}),
    }
    lines += ['', '## What was measured on what', '']
    lines += markdown(('Fact', 'Value'), facts.items())
    if measured.loads:
        lines += ['', '## Load of the cluster, without the benchmark', '']
        lines += markdown(
            tuple(measured.loads[0]), (x.values() for x in measured.loads)
        )
    whole_file.write(folder / REPORT, '\n'.join([*lines, '']))
    figures: list[Row] = [('Run', 'Load', *_HEADERS)]
    figures += [
        (table.run.name, table.load, *row)
        for table in all_tables
        for row in rows(table, measured)
    ]
    whole_file.write(folder / FIGURES, csv_text(figures))
    return [folder / REPORT, folder / FIGURES]


def markdown(
    headers: Sequence[str], content: Iterable[Iterable[object]]
) -> list[str]:
    """Return the lines of a Markdown table; short rows are padded."""
    lines = [list(headers), ['---'] * len(headers)]
    for row in content:
        cells = [' '.join(str(x).split()).replace('|', r'\|') for x in row]
        lines.append([*cells, *[''] * (len(headers) - len(cells))])
    return [f'| {" | ".join(cells)} |' for cells in lines]


def csv_text(lines: Iterable[Row]) -> str:
    """Return lines as the content of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(lines)
    return text.getvalue()
