# SPDX-License-Identifier: Apache-2.0

"""Statistics of repeated measurements, and the steadiness of each."""

from collections.abc import Sequence
import dataclasses
import itertools
import statistics

#: Limits of the steady state of the SNIA's Solid State Storage Performance
#: Test Specification: the range of the values, and the change along the
#: fitted line, as parts of the average.
RANGE = 0.20
SLOPE = 0.10
#: Number of windows of a measurement, like the rounds of that specification.
#: The range of single seconds grows with their number, that of averages of
#: longer windows does not.
WINDOWS = 5
#: Minimum number of measurements of each side of a comparison. Fewer may
#: differ by chance.
ENOUGH = 3
#: The verdict about fewer measurements.
UNDECIDED = f'cannot be decided: fewer than {ENOUGH} measurements'
#: The verdict about a difference that the spread of the measurements can
#: explain. It does not show that there is none.
NOT_SHOWN = 'not shown'
#: The verdict about all measurements under other load.
DISTURBED = 'not shown: the machine or the cluster had other load'


def is_steady(series: Sequence[float]) -> bool | None:
    """Return whether a series of values, one for each second, is steady.

    :returns: None if there are too few values
    """
    average = statistics.fmean(series) if series else 0.0
    if len(series) < WINDOWS or average <= 0:
        return None
    windows = _windows(series)
    width = (max(windows) - min(windows)) / average
    line = statistics.linear_regression(range(WINDOWS), windows)
    slope = abs(line.slope) * (WINDOWS - 1) / average
    return width <= RANGE and slope <= SLOPE


def _windows(series: Sequence[float]) -> list[float]:
    """Return the averages of windows of about equal length."""
    ends = [len(series) * place // WINDOWS for place in range(WINDOWS + 1)]
    return [
        statistics.fmean(series[start:end])
        for start, end in itertools.pairwise(ends)
    ]


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

    def is_comparable(self, other: 'Spread') -> bool:
        """Return whether both have enough measurements for a verdict."""
        return min(self.count, other.count) >= ENOUGH

    def is_clearly_faster(self, other: 'Spread', ratio: float) -> bool:
        """Return whether this is faster, and not by chance.

        :param ratio: minimum ratio of the medians
        """
        return (
            self.is_comparable(other)
            and not self.overlaps(other)
            and self.median >= ratio * other.median
        )


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of one or more measurements."""
    return Spread(
        statistics.median(values), min(values), max(values), len(values)
    )
