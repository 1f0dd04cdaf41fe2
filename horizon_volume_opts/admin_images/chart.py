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

"""The plot: a bar for each pool and volume type, as numbers to draw.

The template makes an SVG of it, without script or inline style: it shows
under any Content-Security-Policy, in print, and to those whose browser is
told what the table beside it says.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts.admin_images import census

#: What the SVG measures in its own units; it scales with the page.
WIDTH = 1000
_LABELS = 330
_BARS = WIDTH - _LABELS - 80
_ROW = 34
_BAR = 22
#: A narrower piece has no room for its number.
_ROOM = 36
#: More bars than fit a page help nobody; the table has all.
MOST_BARS = 25

# Colours of Okabe and Ito, told apart by those who don't see all colours.
# Text on them: what has a contrast of 4.5 to 1 at least.
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
        """Where its number stands."""
        return self.x + self.width / 2

    @property
    def has_room(self) -> bool:
        """Whether its number fits into it."""
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
        """Where text beside it stands."""
        return self.y + _BAR - 6


@dataclasses.dataclass(frozen=True)
class Chart:
    """All bars, the longest as long as there is room."""

    bars: Sequence[Bar]
    legend: Sequence[Piece]
    left_out: int
    width: int = WIDTH
    label_end: int = _LABELS - 12

    @property
    def height(self) -> int:
        """Height in units of the SVG, the legend included."""
        return _ROW * (len(self.bars) + 1)


def draw(rows: Iterable[census.MapRow]) -> Chart:
    """Return the chart of rows, the largest first."""
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
