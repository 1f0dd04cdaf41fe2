#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Statistics of repeated measurements, and the steadiness of each."""

from collections.abc import Sequence
import dataclasses
import statistics

#: Limits of the steady state of the SNIA's Solid State Storage Performance
#: Test Specification: the range of the values, and the change along the
#: fitted line, as parts of the average.
RANGE = 0.20
SLOPE = 0.10
#: Number of values that a decision about the steady state requires.
ENOUGH = 5


@dataclasses.dataclass(frozen=True)
class Steadiness:
    """How steady a measurement was.

    :ivar steady: None if there were too few values
    :ivar range: highest minus lowest value, as a part of the average
    :ivar slope: change along the fitted line, as a part of the average
    """

    steady: bool | None
    range: float
    slope: float


def check(series: Sequence[float]) -> Steadiness:
    """Return how steady a series of values is, one for each second."""
    average = statistics.fmean(series) if series else 0.0
    if len(series) < 2 or average <= 0:
        return Steadiness(None, 0.0, 0.0)
    width = (max(series) - min(series)) / average
    line = statistics.linear_regression(range(len(series)), series)
    slope = abs(line.slope) * (len(series) - 1) / average
    if len(series) < ENOUGH:
        return Steadiness(None, width, slope)
    return Steadiness(width <= RANGE and slope <= SLOPE, width, slope)


@dataclasses.dataclass(frozen=True)
class Spread:
    """Repeated measurements.

    :ivar median: the value that is reported
    """

    median: float
    low: float
    high: float
    count: int

    @property
    def part(self) -> float:
        """The difference of highest and lowest, as a part of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0

    def overlaps(self, other: 'Spread') -> bool:
        """Return whether the measurements of both overlap."""
        return self.low <= other.high and other.low <= self.high


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of one or more measurements."""
    return Spread(
        statistics.median(values), min(values), max(values), len(values)
    )
