# SPDX-License-Identifier: Apache-2.0

"""The table at the end of a run, also of several runs together."""

from __future__ import annotations

from collections.abc import Iterable
import json
import pathlib
import statistics
from typing import Any

#: The columns of counts, as the rounds count them.
COUNTS = (
    *('operations', 'ok', 'error', 'interrupted'),
    *('wrong', 'hung', 'leaked', 'resets'),
)
Row = dict[str, Any]


class Report:
    """Counts by fault and side."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Row]] = {}

    def row(self, fault: str, side: str) -> Row:
        """Return the counts of a fault on a side."""
        sides = self.rows.setdefault(fault, {})
        empty = {**dict.fromkeys(('faults', *COUNTS), 0), 'recovery': []}
        return sides.setdefault(side, empty)

    def add(self, fault: str, side: str, **counts: Any) -> None:
        """Add to the counts of a fault on a side."""
        row = self.row(fault, side)
        for name, count in counts.items():
            row[name] += count

    def save(self, path: pathlib.Path) -> None:
        """Write the counts to a file."""
        path.write_text(json.dumps(self.rows, indent=1))

    @classmethod
    def merged(cls, paths: Iterable[pathlib.Path]) -> Report:
        """Read and add up the counts in files."""
        report = cls()
        for path in paths:
            for fault, sides in json.loads(path.read_text()).items():
                for side, counts in sides.items():
                    report.add(fault, side, **counts)
        return report

    def total(self, side: str) -> Row:
        """Return the sum of all faults."""
        whole = Report()
        for sides in self.rows.values():
            whole.add('', side, **sides.get(side, {}))
        return whole.row('', side)

    def table(self) -> str:
        """Return the table as text."""
        names = ('fault', 'driver', 'faults', *COUNTS, 'recovery')
        lines: list[tuple[str, ...]] = [names]
        sides = sorted({name for row in self.rows.values() for name in row})
        for fault in sorted(self.rows):
            lines += [
                _cells(fault, side, self.rows[fault][side])
                for side in sorted(self.rows[fault])
            ]
        lines += [_cells('all', side, self.total(side)) for side in sides]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return '\n'.join(
            '  '.join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(
                    zip(line, widths, strict=True)
                )
            ).rstrip()
            for line in lines
        )


def _cells(fault: str, side: str, row: Row) -> tuple[str, ...]:
    seconds = row['recovery']
    shown = '-'
    if seconds:
        shown = f'{statistics.median(seconds):.1f} / {max(seconds):.1f}'
    counts = [str(row[name]) for name in ('faults', *COUNTS)]
    return (fault, side, *counts, shown)
