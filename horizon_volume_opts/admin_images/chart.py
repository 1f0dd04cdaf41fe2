# SPDX-License-Identifier: Apache-2.0

"""The geometry of the chart: a bar for each pool and volume type.

Labels and numbers are text of the page, so that they keep their size on a
narrow screen; only the bars scale. The bars are SVG without scripts or inline
styles, so that they work with any Content-Security-Policy and in print.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import images

#: Width of a bar in its own units. It scales with the page.
WIDTH = 1000
#: Maximum number of bars, so that they fit on a page. The table has all rows.
MOST_BARS = 25

# Colours of Okabe and Ito, which people with colour blindness can distinguish.
STATES: dict[images.MapState, tuple[Any, str]] = {
    images.MapState.VALID: (_('valid object map'), '#0072b2'),
    images.MapState.UNCHECKED: (_('object map, not checked'), '#56b4e9'),
    images.MapState.NONE: (_('no object map'), '#e69f00'),
    images.MapState.INVALID: (_('invalid object map'), '#cc79a7'),
    images.MapState.UNKNOWN: (_('not recorded'), '#767676'),
}


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of a bar, in units of the SVG."""

    label: Any
    count: int
    x: float
    width: float
    fill: str


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar and its label."""

    row: census.MapRow
    pieces: Sequence[Piece]


@dataclasses.dataclass(frozen=True)
class Chart:
    """All bars; the longest bar has the full width."""

    bars: Sequence[Bar]
    left_out: int
    width: int = WIDTH


def draw(rows: Iterable[census.MapRow]) -> Chart:
    """Return the chart of rows, the largest row first."""
    ordered = sorted(rows, key=lambda row: -row.total)
    shown = ordered[:MOST_BARS]
    scale = WIDTH / max((row.total for row in shown), default=1)
    bars = [Bar(row, _pieces(row, scale)) for row in shown]
    return Chart(bars, len(ordered) - len(shown))


def _pieces(row: census.MapRow, scale: float) -> list[Piece]:
    pieces: list[Piece] = []
    x = 0.0
    for state, (label, fill) in STATES.items():
        if count := row.counts[state]:
            pieces.append(Piece(label, count, x, count * scale, fill))
            x += count * scale
    return pieces
