# SPDX-License-Identifier: Apache-2.0

"""Plots of a report, as SVG files."""

from collections.abc import Mapping
from collections.abc import Sequence
import logging
import pathlib
from typing import Any

# Its font cache would be a message of each first run.
logging.getLogger('matplotlib').setLevel(logging.WARNING)

import matplotlib  # noqa: E402
from matplotlib import axes  # noqa: E402
from matplotlib import figure  # noqa: E402

from rbd_volume_tools.bench import results  # noqa: E402

#: Keep text as text, and write equal figures to equal files.
STYLE: Any = {
    'svg.fonttype': 'none',
    'svg.hashsalt': 'cinder-rbd-ext',
    'font.size': 11,
}


def draw(
    folder: pathlib.Path, tables: Sequence[results.Table]
) -> dict[str, list[str]]:
    """Draw the plots and return their file names by run."""
    by_run: dict[str, list[results.Table]] = {}
    for table in tables:
        by_run.setdefault(table.run.name, []).append(table)
    drawn = {}
    for place, (name, of_run) in enumerate(by_run.items()):
        file = f'run-{place}.svg'
        if of_run[0].run.is_scaling:
            shown = _depths(of_run[0])
        else:
            groups = {x.load: x.spreads for x in of_run}
            shown = bars(groups, 'operations per second')
        save(folder / file, shown)
        drawn[name] = [file]
    return drawn


def save(path: pathlib.Path, shown: figure.Figure) -> None:
    """Write a figure as SVG; equal figures are equal files."""
    with matplotlib.rc_context(STYLE):
        shown.savefig(
            path, format='svg', metadata={'Date': None, 'Creator': None}
        )


def bars(
    groups: Mapping[str, Mapping[str, results.Spread | None]], unit: str
) -> figure.Figure:
    """Return bars with medians, and lines from the lowest to the highest.

    Each group has its own axis, since rates of loads differ by far.

    :param groups: measurements by label, by group
    """
    count = sum(len(x) + 2 for x in groups.values())
    shown = figure.Figure(figsize=(9, 0.4 + 0.3 * count), layout='constrained')
    ratios = [len(x) + 1.5 for x in groups.values()]
    parts: Any = shown.subplots(
        len(groups), squeeze=False, height_ratios=ratios
    )
    for plot, (title, spreads) in zip(
        parts[:, 0], groups.items(), strict=True
    ):
        present = {x: y for x, y in spreads.items() if y is not None}
        plot.barh(
            list(present),
            [x.median for x in present.values()],
            xerr=[
                [x.median - x.low for x in present.values()],
                [x.high - x.median for x in present.values()],
            ],
            color=['0.6', *['C0'] * (len(present) - 1)][: len(present)],
        )
        plot.invert_yaxis()
        plot.set_title(f'{title}, {unit}', loc='left', fontsize=11)
        _plain(plot)
    return shown


def _plain(plot: axes.Axes) -> None:
    plot.spines[['top', 'right']].set_visible(False)


def _depths(table: results.Table) -> figure.Figure:
    """Return rates by requests in flight, with a line by number of jobs."""
    lines: dict[int, list[tuple[int, float]]] = {}
    for label, spread in table.spreads.items():
        if spread:
            work = table.cells[label].work
            lines.setdefault(work.jobs, []).append(
                (work.in_flight, spread.median)
            )
    shown = figure.Figure(figsize=(9, 4.5), layout='constrained')
    plot = shown.subplots()
    for jobs, points in lines.items():
        plot.plot(*zip(*sorted(points), strict=True), 'o-', label=str(jobs))
    plot.set_xscale('log', base=2)
    plot.set_ylim(bottom=0)
    plot.set_xlabel('requests in flight')
    plot.set_ylabel('operations per second')
    if lines:
        plot.legend(title='jobs', frameon=False)
    _plain(plot)
    return shown
