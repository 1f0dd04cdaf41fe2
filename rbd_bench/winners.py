# SPDX-License-Identifier: Apache-2.0

"""The winner among the rows of a table."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from rbd_bench import plan
from rbd_bench import steady
from rbd_bench import table_rows
from rbd_volume_options import cache_modes

#: Minimum ratio of a winner's rate to that of the baseline.
WORTH = 1.1
#: The axes that become keys of a volume type.
TYPE_AXES = ('layout', 'features', plan.CACHE_MODE)
_UNSAFE = cache_modes.CacheMode.UNSAFE.value


@dataclasses.dataclass(frozen=True)
class Decision:
    """What the rows of a table allow to say.

    :ivar winner: the row to choose; None if there is none
    :ivar ties: rows that are neither clearly faster nor slower than the winner
    :ivar open: labels of rows with too few measurements for a verdict
    :ivar problem: why nothing could be decided; empty if something was
    :ivar keys_known: whether all keys were measured often enough
    """

    winner: table_rows.Row | None = None
    ties: tuple[table_rows.Row, ...] = ()
    open: tuple[str, ...] = ()
    problem: str = ''
    keys_known: bool = True

    @property
    def is_decided(self) -> bool:
        """Whether it is known which keys gain, or that none of them does."""
        return self.keys_known and not self.problem


def changes(
    values: Mapping[str, str], baseline: Mapping[str, str]
) -> set[str]:
    """Return the axes in which a combination differs from the baseline."""
    return {axis for axis, x in values.items() if x != baseline.get(axis)}


def decide(rows: Sequence[table_rows.Row]) -> Decision:
    """Return the decision about rows, of which the first is the baseline.

    A row can win if each of its changes is clearly faster than the same row
    without this change. Of equal rows, the one with the fewest changes wins.
    """
    base, safe = rows[0], [x for x in rows if not _is_unsafe(x)]
    unknown = tuple(x.label for x in safe if _count(x) < steady.ENOUGH)
    able = [row for row in safe if _each_change_gains(row, rows)]
    if not able:
        return Decision(open=unknown, problem=_problem(rows, safe))
    fastest = max(able, key=_median)
    winner = min(
        (row for row in able if not _is_clearly_faster(fastest, row)),
        key=lambda row: (_number_of_changes(row, base), -_median(row)),
    )
    ties = tuple(
        row for row in safe if row is not winner and _is_tie(winner, row)
    )
    often = [row for row in safe if _count(row) >= steady.ENOUGH]
    known = {_keys(row) for row in often} >= {_keys(row) for row in safe}
    return Decision(winner, ties, unknown, keys_known=known)


def _is_unsafe(row: table_rows.Row) -> bool:
    # It can lose data and is never recommended.
    return row.cell.values.get(plan.CACHE_MODE) == _UNSAFE


def _count(row: table_rows.Row) -> int:
    return row.spread.count if row.spread else 0


def _median(row: table_rows.Row) -> float:
    return row.spread.median if row.spread else 0.0


def _is_clearly_faster(one: table_rows.Row, other: table_rows.Row) -> bool:
    if not one.spread or not other.spread:
        return False
    return one.spread.is_clearly_faster(other.spread, WORTH)


def _is_tie(winner: table_rows.Row, row: table_rows.Row) -> bool:
    return _count(row) >= steady.ENOUGH and not (
        _is_clearly_faster(winner, row) or _is_clearly_faster(row, winner)
    )


def _number_of_changes(row: table_rows.Row, base: table_rows.Row) -> int:
    return len(changes(row.cell.values, base.cell.values))


def _without(
    row: table_rows.Row, rows: Sequence[table_rows.Row]
) -> list[table_rows.Row]:
    """Return the rows that lack one of the changes of a row."""
    base = rows[0].cell.values
    axes = changes(row.cell.values, base)
    others = [{**row.cell.values, axis: base[axis]} for axis in axes]
    return [each for each in rows if each.cell.values in others]


def _each_change_gains(
    row: table_rows.Row, rows: Sequence[table_rows.Row]
) -> bool:
    """Return whether a row is faster due to each of its changes."""
    without = _without(row, rows)
    return (
        len(without) == _number_of_changes(row, rows[0])
        and _is_clearly_faster(row, rows[0])
        and all(_is_clearly_faster(row, each) for each in without)
    )


def _problem(
    rows: Sequence[table_rows.Row], safe: Sequence[table_rows.Row]
) -> str:
    """Return why rows without a winner are undecided; empty if they are not.

    A row that failed is no problem if another row has the same keys: for
    example, QEMU may not start with an I/O thread.
    """
    base, measured = rows[0], [row for row in safe if row.spread]
    if base.spread is None:
        return 'the baseline was not measured'
    if len(measured) < 2:
        return 'only one variant was measured'
    if any(_count(row) < steady.ENOUGH for row in measured):
        return f'fewer than {steady.ENOUGH} measurements'
    known = {_keys(row) for row in measured}
    missing = [row.label for row in safe if _keys(row) not in known]
    if missing:
        return f'not measured: {", ".join(missing)}'
    for row in measured:
        if _is_clearly_faster(row, base) and not all(
            each.spread for each in _without(row, rows)
        ):
            return f'{row.label} is faster, but it is not known which change'
    return ''


def _keys(row: table_rows.Row) -> tuple[str | None, ...]:
    return tuple(row.cell.values.get(axis) for axis in TYPE_AXES)
