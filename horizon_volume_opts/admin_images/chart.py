# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The geometry of the chart: a bar for each pool and volume type.

The template renders it as SVG without scripts or inline styles, so that it
works with any Content-Security-Policy and in print. The table on the same
page has the same numbers for screen readers.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts.admin_images import census

#: Width of the SVG in its own units. It scales with the page.
WIDTH = 1000
_LABELS = 330
_BARS = WIDTH - _LABELS - 80
_ROW = 34
_BAR = 22
#: Minimum width of a piece for its number to fit.
_ROOM = 36
#: Maximum number of bars, so that they fit on a page. The table has all rows.
MOST_BARS = 25

# Colours of Okabe and Ito, which people with colour blindness can distinguish.
# The text on them has a contrast of at least 4.5 to 1.
STATES: dict[census.MapState, tuple[Any, str, str]] = {
    census.MapState.VALID: (_('with object map'), '#0072b2', '#ffffff'),
    census.MapState.NONE: (_('without'), '#e69f00', '#000000'),
    census.MapState.INVALID: (_('map invalid'), '#cc79a7', '#000000'),
    census.MapState.UNKNOWN: (_('not recorded'), '#767676', '#ffffff'),
}


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of a bar, in units of the SVG."""

    label: Any
    count: int
    x: float
    width: float
    fill: str
    ink: str

    @property
    def middle(self) -> float:
        """Horizontal position of the number."""
        return self.x + self.width / 2

    @property
    def has_room(self) -> bool:
        """Whether the number fits into the piece."""
        return self.width >= _ROOM


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar and its label."""

    row: census.MapRow
    y: float
    end: float
    pieces: Sequence[Piece]
    height: int = _BAR

    @property
    def baseline(self) -> float:
        """Vertical position of the text beside the bar."""
        return self.y + _BAR - 6


@dataclasses.dataclass(frozen=True)
class Chart:
    """All bars; the longest bar has the full width."""

    bars: Sequence[Bar]
    legend: Sequence[Piece]
    left_out: int
    width: int = WIDTH
    label_end: int = _LABELS - 12

    @property
    def height(self) -> int:
        """Height in units of the SVG, including the legend."""
        return _ROW * (len(self.bars) + 1)


def draw(rows: Iterable[census.MapRow]) -> Chart:
    """Return the chart of rows, the largest row first."""
    ordered = sorted(rows, key=lambda row: -row.total)
    shown = ordered[:MOST_BARS]
    scale = _BARS / max((row.total for row in shown), default=1)
    bars = []
    for place, row in enumerate(shown, start=1):
        pieces = _pieces(row, scale)
        bars.append(
            Bar(row, place * _ROW, _LABELS + row.total * scale, pieces)
        )
    used = {piece.label for bar in bars for piece in bar.pieces}
    return Chart(bars, _legend(used), len(ordered) - len(shown))


def _pieces(row: census.MapRow, scale: float) -> list[Piece]:
    pieces: list[Piece] = []
    x = float(_LABELS)
    for state, (label, fill, ink) in STATES.items():
        if count := row.counts[state]:
            pieces.append(Piece(label, count, x, count * scale, fill, ink))
            x += count * scale
    return pieces


def _legend(used: set[Any]) -> list[Piece]:
    step = WIDTH / len(STATES)
    labels = [each for each in STATES.values() if each[0] in used]
    return [
        Piece(label, 0, place * step, _BAR, fill, ink)
        for place, (label, fill, ink) in enumerate(labels)
    ]
