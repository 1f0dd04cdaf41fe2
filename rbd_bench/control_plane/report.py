# SPDX-License-Identifier: Apache-2.0

"""The results and the report of a run, in a folder."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
from typing import Any

from rbd_bench.control_plane import plan
from rbd_bench.control_plane import ratios
from rbd_bench.control_plane import tasks
from rbd_volume_tools.command_line import whole_file

RESULTS = 'control-plane.json'
REPORT = 'control-plane.md'
#: The files of a report.
NAMES = (REPORT, RESULTS)
_FORMAT = 1

HEADERS = (
    *('Scenario', 'Action', 'At once'),
    *('First', 'First rounds', 'Second', 'Second rounds'),
    *('Ratio', 'Result', 'Failed'),
)
_NOTES = """\
- First, Second: median duration of all iterations, in seconds.
- Rounds: the lowest and the highest median of a round.
- Ratio: First divided by Second. Above 1, the second volume type is faster.
- Result: `not shown` if the rounds overlap or the ratio is within 5 %. A
  round is one measurement.
- Failed: iterations of both types that failed. Their completed actions count.
- rally queries the status of a volume at intervals. A duration is therefore
  up to one interval too long, for both volume types.
"""


def cells(row: ratios.Row) -> tuple[Any, ...]:
    """Return the values of a row of the table."""
    return (
        *(row.scenario, row.action, row.at_once),
        *_side(row.first),
        *_side(row.second),
        row.ratio and round(row.ratio, 2),
        row.verdict,
        row.failed,
    )


def _side(side: ratios.Side | None) -> tuple[float | None, str]:
    if side is None:
        return None, ''
    rounds = f'{side.rounds.low:.2f} to {side.rounds.high:.2f}'
    return round(side.median, 3), rounds


def write(
    folder: pathlib.Path,
    whole_plan: plan.Plan,
    choices: tasks.Choices,
    facts: Mapping[str, str],
    samples: Sequence[ratios.Sample],
) -> list[pathlib.Path]:
    """Write the results and the report; return their paths.

    Earlier files remain if this is interrupted.

    :param facts: versions and names, for the heading of the report
    """
    content = {
        'format': _FORMAT,
        'plan': dataclasses.asdict(whole_plan),
        'choices': dataclasses.asdict(choices),
        'facts': dict(facts),
        'rows': [
            dataclasses.asdict(each)
            for each in ratios.rows(whole_plan, choices, samples)
        ],
        'samples': [dataclasses.asdict(each) for each in samples],
    }
    texts = {
        REPORT: _markdown(whole_plan, choices, facts, samples),
        RESULTS: json.dumps(content, indent=1) + '\n',
    }
    for name in NAMES:
        whole_file.write(folder / name, texts[name])
    return [folder / name for name in NAMES]


def _markdown(
    whole_plan: plan.Plan,
    choices: tasks.Choices,
    facts: Mapping[str, str],
    samples: Sequence[ratios.Sample],
) -> str:
    lines = [
        f'# {whole_plan.title}',
        '',
        _line(HEADERS),
        _line(['---'] * len(HEADERS)),
        *(_line(cells(x)) for x in ratios.rows(whole_plan, choices, samples)),
        '',
        f'- First: volume type {_code(choices.types[0])}',
        f'- Second: volume type {_code(choices.types[1])}',
        *(f'- {name}: {_code(value)}' for name, value in facts.items()),
        '',
        '## Columns',
        '',
        _NOTES,
        '## Intervals of the queries',
        '',
        *(
            f'- {level} at once: {whole_plan.settings.poll(level):.2f} s'
            for level in tasks.levels(whole_plan, choices)
        ),
    ]
    errors = {each.error for each in samples if each.error}
    if errors:
        lines += ['', '## Errors', '', *(f'- {_code(x)}' for x in errors)]
    return '\n'.join([*lines, ''])


def _line(values: Sequence[Any]) -> str:
    shown = ('' if each is None else str(each) for each in values)
    return f'| {" | ".join(shown)} |'


def _code(text: str) -> str:
    """Return a text on one line, which Markdown shows unchanged."""
    return f'`{" ".join(text.split()).replace("`", chr(39))}`'
