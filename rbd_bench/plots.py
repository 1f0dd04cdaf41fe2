# SPDX-License-Identifier: Apache-2.0

"""Plots of a report, as SVG files."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import pathlib
import re
from typing import Any

import matplotlib
from matplotlib import axes
from matplotlib import figure

from rbd_bench import fio_plot
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import summary

_WIDTH = 9.0
#: Keep text as text, and write equal figures to equal files.
_STYLE: Any = {
    'svg.fonttype': 'none',
    'svg.hashsalt': 'cinder-rbd-ext',
    'font.size': 11,
}
_NO_DATE = {'Date': None, 'Creator': None}
_MOST_LINES = 10


def draw(
    folder: pathlib.Path,
    whole_plan: plan.Plan,
    measured: results.Results,
    tables: Sequence[summary.Table],
    raw: pathlib.Path,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, list[str]]:
    """Draw the plots and return their file names by run.

    :param folder: for the files
    :param raw: folder of fio's output
    :param say: shows why a plot is missing
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, list[str]] = {}
    with matplotlib.rc_context(_STYLE):
        for run in whole_plan.runs:
            of_run = [each for each in tables if each.run.name == run.name]
            if not of_run:
                continue
            start = re.sub(r'[^a-z0-9]+', '-', run.name.lower())
            names = drawn.setdefault(run.name, [])
            if len(of_run[0].rows) > 1 and not of_run[0].scaling:
                names.append(f'{start}-ratios.svg')
                _ratios(folder / names[-1], of_run)
            if run.has_depths:
                names.append(f'{start}-depth.svg')
                _depths(folder / names[-1], of_run)
                names += fio_plot.draw(
                    folder, raw, run, _of_run(measured, run), say
                )
            series = [x for x in _of_run(measured, run) if len(x.series) > 2]
            if series:
                names.append(f'{start}-time.svg')
                _times(folder / names[-1], of_run, series)
    return drawn


def _of_run(measured: results.Results, run: plan.Run) -> list[results.Sample]:
    return [each for each in measured.samples if each.run == run.name]


def _new(height: float) -> tuple[figure.Figure, axes.Axes]:
    shown = figure.Figure(figsize=(_WIDTH, height), layout='constrained')
    plot = shown.add_subplot()
    plot.spines[['top', 'right']].set_visible(False)
    return shown, plot


def _save(path: pathlib.Path, shown: figure.Figure) -> None:
    shown.savefig(path, format='svg', metadata=_NO_DATE)


def _ratios(path: pathlib.Path, tables: Sequence[summary.Table]) -> None:
    """Draw a group of bars for each load with the ratios to the baseline."""
    labels = [row.label for row in tables[0].rows]
    shown, plot = _new(1.2 + 0.3 * len(tables) * (len(labels) + 1))
    height = 0.85 / len(labels)
    highest = 1.0
    for place, label in enumerate(labels):
        values = [_ratio_of(table, label) for table in tables]
        highest = max(highest, *values)
        places = [group + place * height for group in range(len(tables))]
        plot.barh(
            places,
            values,
            height,
            label=label,
            color=f'C{place}' if place else '0.6',
        )
        # A logarithmic axis cannot show a bar of 0, nor its label.
        for value, where in zip(values, places, strict=True):
            plot.annotate(
                f'{value:.2f}' if value else 'not measured',
                (value or 1, where),
                xytext=(4, 0),
                textcoords='offset points',
                verticalalignment='center',
                fontsize=9,
            )
    plot.set_yticks(
        [group + 0.425 - height / 2 for group in range(len(tables))],
        [table.load for table in tables],
    )
    plot.invert_yaxis()
    plot.axvline(1, color='black', linewidth=0.8)
    if highest > 10:
        plot.set_xscale('log')
        plot.xaxis.set_major_formatter('{x:g}')
    plot.set_xlabel(f'operations per second, {labels[0]} = 1')
    plot.margins(x=0.12)
    shown.legend(loc='outside upper right', frameon=False, ncols=3)
    _save(path, shown)


def _ratio_of(table: summary.Table, label: str) -> float:
    for row in table.rows:
        if row.label == label and row.ratio:
            return row.ratio
    return 0.0


def _depths(path: pathlib.Path, tables: Sequence[summary.Table]) -> None:
    """Draw rates against the requests in flight.

    A line for each variant and number of jobs.
    """
    lines: dict[str, list[tuple[int, float]]] = {}
    rows = [row for table in tables for row in table.rows]
    many = len({row.cell.work.jobs for row in rows}) > 1
    for table in tables:
        for row in table.rows:
            work = row.cell.work
            jobs = f'{work.jobs} job{"s" * (work.jobs > 1)}' if many else ''
            variant = '' if table.scaling else row.label
            label = (
                ', '.join(filter(None, (variant, jobs))) or row.cell.run.name
            )
            if row.spread:
                lines.setdefault(label, []).append(
                    (work.in_flight, row.spread.median)
                )
    shown, plot = _new(4.5)
    for label, points in lines.items():
        plot.plot(*zip(*sorted(points), strict=True), marker='o', label=label)
    plot.set_xscale('log', base=2)
    plot.xaxis.set_major_formatter('{x:.0f}')
    plot.set_ylim(bottom=0)
    plot.set_xlabel('requests in flight')
    plot.set_ylabel('operations per second')
    if plot.has_data():
        plot.legend(frameon=False)
    _save(path, shown)


def _times(
    path: pathlib.Path,
    tables: Sequence[summary.Table],
    samples: Iterable[results.Sample],
) -> None:
    """Draw rates during the first repetition, as evidence of steadiness."""
    first = {each.cell: each for each in samples if each.repetition == 0}
    all_plots = []
    shown = figure.Figure(
        figsize=(_WIDTH, 0.6 + 2.3 * len(tables)), layout='constrained'
    )
    for place, table in enumerate(tables):
        plot = shown.add_subplot(len(tables), 1, place + 1)
        all_plots.append(plot)
        plot.spines[['top', 'right']].set_visible(False)
        for row in table.rows[:_MOST_LINES]:
            if sample := first.get(row.cell.ident):
                plot.plot(
                    range(1, len(sample.series) + 1),
                    sample.series,
                    label=row.label,
                )
        plot.set_ylim(bottom=0)
        plot.set_title(table.load, loc='left', fontsize=11)
        plot.set_ylabel('per second')
    all_plots[-1].set_xlabel('seconds after the warm-up')
    handles, labels = all_plots[0].get_legend_handles_labels()
    shown.legend(
        handles, labels, loc='outside upper right', frameon=False, ncols=3
    )
    _save(path, shown)
