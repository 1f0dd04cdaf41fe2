# SPDX-License-Identifier: Apache-2.0


"""Plots of the results of ``driver.py`` and ``deletion.py``.

    python3 benchmarks/plots.py calls FILE... --output calls.svg
    python3 benchmarks/plots.py deletion FILE... --output deletion.svg

The files are those of the option ``--json``. ``calls`` shows the ratio of
each operation, with the ratio of Cinder's driver to the bare calls as a mark.
``deletion`` shows the time of one deletion by the size of the image. Requires
matplotlib.
"""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
import sys
from typing import Any

import matplotlib
from matplotlib import figure

#: Keep text as text, and write equal figures to equal files.
_STYLE: Any = {
    'svg.fonttype': 'none',
    'svg.hashsalt': 'benchmarks',
    'font.size': 11,
}
_NO_DATE = {'Date': None, 'Creator': None}
_WIDTH = 9.0
#: Without a bare call that is comparable.
_NO_LIMIT = ('initialize_connection', 'statistics')
#: Operations that Cinder's driver does not perform on the cluster.
_NOT_COMPARED = ('retype in place',)
_MAPS = {
    'none': 'no object map',
    'invalid': 'invalid object map',
    'valid': 'valid object map',
}


def _new(height: float) -> tuple[figure.Figure, Any]:
    shown = figure.Figure(figsize=(_WIDTH, height), layout='constrained')
    plot = shown.add_subplot()
    plot.spines[['top', 'right']].set_visible(False)
    return shown, plot


def calls(results: Sequence[Mapping[str, Any]]) -> figure.Figure:
    """Draw the ratios of the operations, a bar for each number of calls.

    :param results: results of ``driver.py``
    """
    times = {
        number: rows
        for each in results
        for number, rows in each['times'].items()
    }
    names = [x for x in next(iter(times.values())) if x not in _NOT_COMPARED]
    height = 0.85 / len(times)
    shown, plot = _new(1.5 + 0.3 * len(times) * len(names))
    for place, (number, rows) in enumerate(times.items()):
        at = [row + place * height for row in range(len(names))]
        ratios = [rows[name]['ratio'] for name in names]
        label = 'one call' if number == '1' else f'{number} at once'
        plot.barh(at, ratios, height * 0.9, label=label, color=f'C{place}')
        for where, ratio, name in zip(at, ratios, names, strict=True):
            # At the start of the bar: the mark may be next to its end.
            plot.annotate(
                f'{ratio:.2f}', (0, where), xytext=(4, 0),
                xycoords=('axes fraction', 'data'),
                textcoords='offset points', verticalalignment='center',
                fontsize=9, color='white',
            )  # fmt: skip
            row = rows[name]
            if 'bare' in row and name not in _NO_LIMIT:
                limit = row['stock']['median'] / row['bare']['median']
                plot.plot([limit], [where], marker='|', color='black', ms=9)
    plot.plot([], [], '|', color='black', ms=9, label='bare calls')
    plot.set_yticks(
        [row + 0.425 - height / 2 for row in range(len(names))], names
    )
    plot.invert_yaxis()
    plot.axvline(1, color='black', linewidth=0.8)
    plot.set_xscale('log')
    plot.xaxis.set_major_formatter('{x:g}')
    plot.margins(x=0.1, y=0.01)
    plot.set_xlabel("times as fast as Cinder's driver")
    shown.legend(loc='outside upper right', frameon=False, ncols=4)
    return shown


def deletion(results: Sequence[Sequence[Mapping[str, Any]]]) -> figure.Figure:
    """Draw the seconds of one deletion by the size of an empty image.

    :param results: results of ``deletion.py``
    """
    rows = [
        row
        for each in results
        for row in each
        if row['at_once'] == 1 and not row['written']
    ]
    shown, plot = _new(4.2)
    for object_map, label in _MAPS.items():
        points = sorted(
            (row['size'], row['seconds']['ours'])
            for row in rows
            if row['object_map'] == object_map
        )
        if points:
            plot.plot(*zip(*points, strict=True), marker='o', label=label)
    plot.set_xscale('log')
    plot.set_yscale('log')
    plot.xaxis.set_major_formatter('{x:,.0f}')
    plot.yaxis.set_major_formatter('{x:g}')
    plot.set_xlabel('size of the empty image, GiB')
    plot.set_ylabel('seconds')
    plot.legend(frameon=False)
    return shown


def main() -> None:
    """Draw one plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('kind', choices=('calls', 'deletion'))
    parser.add_argument('results', nargs='+')
    parser.add_argument('--output', type=pathlib.Path, required=True)
    args = parser.parse_args()
    read = [json.loads(pathlib.Path(x).read_text()) for x in args.results]
    with matplotlib.rc_context(_STYLE):
        shown = {'calls': calls, 'deletion': deletion}[args.kind](read)
        shown.savefig(args.output, format='svg', metadata=_NO_DATE)


if __name__ == '__main__':
    sys.exit(main())
