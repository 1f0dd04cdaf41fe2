# SPDX-License-Identifier: Apache-2.0

"""The directive ``plot``: bars of the figures in a CSV file.

The file is the ``figures.csv`` of ``cinder-rbd-ext bench``, or a table whose
first column has the groups, and each other column the figures of one series.
What is not a number has no bar.
"""

import csv
import pathlib
import re

from docutils.parsers.rst import directives
from docutils.parsers.rst.directives import images
import matplotlib
from matplotlib import figure
from sphinx.util import docutils

# Text stays text, and equal figures are equal files.
_STYLE = {'svg.fonttype': 'none', 'svg.hashsalt': 'plots', 'font.size': 11}


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def read(source, run=None):
    """Return the names of the series, and rows of a group with its figures.

    :param run: a run of the plan, if the file is ``figures.csv``; the variant
        to which the others are compared is left out
    """
    with source.open(newline='') as file:
        rows = list(csv.reader(file))
    if run is None:
        (_, *series), *rows = rows
        return series, rows
    loads = {}
    for row in csv.DictReader(source.open(newline='')):
        if row['Run'] == run:
            loads.setdefault(row['Load'], {})[row['Variant']] = row['Ratio']
    _, *series = next(iter(loads.values()))
    return series, [
        [load, *(ratios.get(name, '') for name in series)]
        for load, ratios in loads.items()
    ]


def draw(source, target, unit, logarithmic=False, run=None):
    """Draw the figures of a file.

    :param unit: what the figures are
    """
    series, rows = read(source, run)
    height = 0.85 / len(series)
    shown = figure.Figure(
        figsize=(9, 1.3 + len(rows) * (0.15 + 0.2 * len(series))),
        layout='constrained',
    )
    plot = shown.add_subplot()
    for place, name in enumerate(series):
        points = [
            (number + place * height, value)
            for number, row in enumerate(rows)
            if (value := _number(row[place + 1])) is not None
        ]
        places, values = [x for x, _ in points], [x for _, x in points]
        bars = plot.barh(places, values, height * 0.9, label=name)
        plot.bar_label(bars, fmt='%g', padding=2, fontsize=9)
    middle = 0.425 - height / 2
    labels = [row[0].replace('``', '') for row in rows]
    plot.set_yticks([x + middle for x in range(len(rows))], labels)
    plot.invert_yaxis()
    plot.axvline(1, color='black', linewidth=0.8)
    if logarithmic:
        plot.set_xscale('log')
        plot.xaxis.set_major_formatter('{x:g}')
    plot.margins(x=0.1, y=0.01)
    plot.spines[['top', 'right']].set_visible(False)
    plot.set_xlabel(unit)
    shown.legend(loc='outside upper right', frameon=False, ncols=4)
    with matplotlib.rc_context(_STYLE):
        shown.savefig(
            target, format='svg', metadata={'Date': None, 'Creator': None}
        )


class Plot(images.Image, docutils.SphinxDirective):
    """Draws the file that it names, and inserts the image."""

    option_spec = {
        **images.Image.option_spec,
        'unit': directives.unchanged_required,
        'log': directives.flag,
        'run': directives.unchanged_required,
    }

    def run(self):
        """Return the image."""
        _, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        source = pathlib.Path(name)
        drawn = pathlib.Path(self.env.srcdir, '_static', 'plots')
        drawn.mkdir(parents=True, exist_ok=True)
        run = self.options.pop('run', None)
        # docutils removes spaces from the name of an image.
        name = re.sub(r'\W+', '-', ' '.join(filter(None, (source.stem, run))))
        unit = self.options.pop('unit')
        logarithmic = 'log' in self.options
        self.options.pop('log', None)
        draw(source, drawn / f'{name}.svg', unit, logarithmic, run)
        self.arguments[0] = f'/_static/plots/{name}.svg'
        return super().run()


def setup(app):
    """Add the directive."""
    app.add_directive('plot', Plot)
    return {'parallel_read_safe': True}
