# SPDX-License-Identifier: Apache-2.0

"""The report: Markdown, HTML and plots in the folder of the results."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import functools
import pathlib
import re
import shlex
from typing import Any

import jinja2

from rbd_bench import causes
from rbd_bench import interference
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import plots
from rbd_bench import published
from rbd_bench import results
from rbd_bench import steady
from rbd_bench import stored
from rbd_bench import striping
from rbd_bench import summary
from rbd_bench import winners
from rbd_volume_options import cache_modes
from rbd_volume_options import keys
from rbd_volume_options import sizes
from rbd_volume_tools.command_line import whole_file

NAMES = {'report.html': 'report.html.j2', 'report.md': 'report.md.j2'}
PLOTS = 'plots'


#: The mode of Nova for RBD, which needs no key.
_DEFAULT_MODE = cache_modes.CacheMode.NONE.value


def write(
    folder: pathlib.Path,
    whole_plan: plan.Plan,
    measured: results.Results,
    say: Callable[[str], None] = lambda line: None,
) -> list[pathlib.Path]:
    """Write the report and return the paths of its files.

    :param say: shows what is missing in the report, and why
    """
    tables = summary.tables(whole_plan, measured)
    notes = _left_out(whole_plan, measured)
    drawn = plots.draw(
        folder / PLOTS,
        whole_plan,
        measured,
        tables,
        folder / results.RAW,
        notes.append,
    )
    for each in notes:
        say(each)
    model = _model(whole_plan, measured, tables, drawn, notes)
    written = []
    for name, template in NAMES.items():
        text = _templates(name).get_template(template).render(model)
        path = folder / name
        whole_file.write(path, text.rstrip() + '\n')
        written.append(path)
    return written


def _left_out(whole_plan: plan.Plan, measured: results.Results) -> list[str]:
    """Return notes about measurements of a plan that has changed since."""
    known = {each.ident for each in matrix.cells(whole_plan)}
    cells = dict.fromkeys(each.cell for each in measured.samples)
    return [
        f'{cell} is not part of the plan and was left out.'
        for cell in cells
        if cell not in known
    ]


def _templates(name: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        # The page contains names of plans and messages of programs.
        autoescape=name.endswith('.html'),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters['size'] = sizes.format_size
    environment.filters['rate'] = _rate
    environment.filters['cell'] = _cell
    environment.filters['outcome'] = outcome
    return environment


def _rate(value: float) -> str:
    return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def _cell(text: str) -> str:
    """Return a text, escaped for a cell of a Markdown table."""
    return ' '.join(text.split()).replace('|', r'\|')


def outcome(table: summary.Table) -> str:
    """Return which variant won a load, or why none did."""
    decision, row = table.decision, table.winner
    if decision.problem:
        if decision.problem == steady.DISTURBED:
            return steady.DISTURBED
        return f'cannot be decided: {decision.problem}'
    if row is None:
        return (
            f'{steady.NOT_SHOWN}: no variant is faster than the baseline '
            f'({table.rows[0].label}) by more than the spread'
        )
    texts = [row.label]
    if decision.ties:
        labels = ', '.join(f'"{each.label}"' for each in decision.ties)
        texts.append(f'no clear difference to: {labels}')
    for name, each in (('winner', row), ('baseline', table.rows[0])):
        if each.unsteady and each.spread:
            texts.append(
                f'{each.unsteady} of {each.spread.count} measurements of the '
                f'{name} were not steady'
            )
    if decision.open:
        texts.append(
            f'variants without enough measurements: {len(decision.open)}'
        )
    return '; '.join(texts)


def _model(
    whole_plan: plan.Plan,
    measured: results.Results,
    tables: list[summary.Table],
    drawn: Mapping[str, list[str]],
    notes: list[str],
) -> dict[str, Any]:
    found_causes = causes.find(measured.environment)
    variants = [each for each in tables if not each.scaling]
    runs = [
        {
            'run': run,
            'tables': of_run,
            'plots': drawn.get(run.name, []),
            'gains': _gains(run, measured),
        }
        for run in whole_plan.runs
        if (of_run := [x for x in tables if x.run.name == run.name])
    ]
    return {
        'plan': whole_plan,
        'settings': ', '.join(
            f'{name} {value}'
            for name, value in dataclasses.asdict(measured.settings).items()
        ),
        'environment': stored.flat(measured.environment),
        'runs': runs,
        'tables': tables,
        'types': volume_types(tables),
        'all_decided': all(x.decision.is_decided for x in variants),
        'variants': variants,
        'compared': published.compare(whole_plan, measured),
        'loads': measured.loads,
        'causes': found_causes,
        'of_table': functools.partial(causes.of_table, found_causes),
        'of_published': functools.partial(causes.of_published, found_causes),
        'interference': interference.find(measured),
        'notes': notes,
        'plot_folder': PLOTS,
        'worth': winners.WORTH,
        'enough': steady.ENOUGH,
    }


def _gains(
    run: plan.Run, measured: results.Results
) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the possible gain of each layout for each workload of a run."""
    osds = int(measured.environment.get('osds', 0))
    if len(run.layouts) < 2 or not run.workloads or not osds:
        return []
    layouts = {
        name: plan.layout_of(wanted) for name, wanted in run.layouts.items()
    }
    return [
        (
            work.name,
            [
                (
                    name,
                    striping.gain(
                        image, work, measured.settings.image_size, osds
                    ),
                )
                for name, image in layouts.items()
            ],
        )
        for work in run.workloads
    ]


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


def volume_types(tables: Iterable[summary.Table]) -> list[VolumeType]:
    """Return the volume types of all winners, without duplicates."""
    loads: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for table in tables:
        if table.winner and (properties := _properties(table)):
            loads.setdefault(tuple(properties.items()), []).append(table.load)
    return [
        VolumeType(_name_of_type(properties), dict(properties), tuple(of))
        for properties, of in loads.items()
    ]


def _properties(table: summary.Table) -> dict[str, str]:
    """Return the keys of a winner; none if only other axes have won.

    The type has all keys of the volumes that were measured, also those that
    all rows have in common.
    """
    if table.winner is None:
        return {}
    winner, base = table.winner.cell, table.rows[0].cell
    changed = winners.changes(winner.values, base.values)
    if not changed & set(winners.TYPE_AXES):
        return {}
    properties = dict(winner.keys)
    mode = winner.values.get(plan.CACHE_MODE, _DEFAULT_MODE)
    if plan.CACHE_MODE in changed or mode != _DEFAULT_MODE:
        properties[keys.CACHE_MODE] = mode
    return properties


def _name_of_type(properties: Iterable[tuple[str, str]]) -> str:
    words = [
        f'{key.removeprefix(keys.PREFIX)}-{value}' for key, value in properties
    ]
    text = '-'.join(words).lower().replace('_', '-')
    return 'rbd-' + re.sub(r'[^a-z0-9-]+', '-', text)
