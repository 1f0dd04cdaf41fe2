# SPDX-License-Identifier: Apache-2.0

"""Rows of a table: combinations and their measurements."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from rbd_bench import matrix
from rbd_bench import results
from rbd_bench import steady


@dataclasses.dataclass(frozen=True)
class Row:
    """A combination and its measurements.

    :ivar ratio: median rate to that of the baseline; None if one is missing
    :ivar unsteady: number of measurements that were not steady; None if all
        were too short
    """

    cell: matrix.Cell
    label: str
    spread: steady.Spread | None
    ratio: float | None
    unsteady: int | None
    error: str
    detail: Mapping[str, float]


def spread(samples: Iterable[results.Sample]) -> steady.Spread | None:
    """Return the spread of the rates; None if nothing was measured."""
    rates = [each.rate for each in samples if not each.error]
    return steady.spread(rates) if rates else None


def row(
    cell: matrix.Cell,
    samples: Sequence[results.Sample],
    baseline: steady.Spread | None,
    varied: Iterable[str],
) -> Row:
    """Return the row of a combination.

    :param baseline: the measurements of the baseline; None if it failed
    :param varied: the axes that the label names
    """
    own = spread(samples)
    good = [each for each in samples if not each.error]
    ratio = None
    if own and baseline and baseline.median:
        ratio = own.median / baseline.median
    label = ', '.join(_label(axis, cell.values[axis]) for axis in varied)
    return Row(
        cell,
        label or _label(*next(iter(cell.values.items()))),
        own,
        ratio,
        _unsteady(good),
        '' if good else samples[-1].error,
        good[-1].detail if good else {},
    )


def _unsteady(samples: list[results.Sample]) -> int | None:
    steadiness = [steady.is_steady(each.series) for each in samples]
    told = [each for each in steadiness if each is not None]
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
