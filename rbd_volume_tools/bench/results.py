# SPDX-License-Identifier: Apache-2.0

"""Results in a folder, as JSON. They are written after each measurement."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import pathlib
import re
import statistics
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.command_line import whole_file

FILE = 'results.json'
#: Raw output of fio, one file for each measurement.
RAW = 'fio'
_FORMAT = 2
#: The file that a run locks.
_LOCK = 'lock'


@dataclasses.dataclass(frozen=True)
class Spread:
    """Repeated measurements."""

    median: float
    mean: float
    deviation: float
    low: float
    high: float
    count: int

    @classmethod
    def of_values(cls, values: Sequence[float]) -> 'Spread':
        """Return the spread of one or more values."""
        return cls(
            statistics.median(values),
            statistics.fmean(values),
            statistics.stdev(values) if len(values) > 1 else 0.0,
            min(values),
            max(values),
            len(values),
        )

    def overlaps(self, other: 'Spread') -> bool:
        """Return whether the measurements of both overlap."""
        return self.low <= other.high and other.low <= self.high


@dataclasses.dataclass(frozen=True)
class Sample:
    """A measurement.

    :ivar cell: the identity of the combination
    :ivar rate: operations per second; 0 if it failed
    :ivar detail: other figures, such as bytes per second and latencies
    :ivar error: why it failed
    """

    cell: str
    repetition: int
    rate: float
    detail: Mapping[str, float] = dataclasses.field(default_factory=dict)
    error: str = ''


@dataclasses.dataclass
class Results:
    """The results of a plan.

    :ivar document: the plan, after all options
    :ivar environment: versions, cluster map, network, and so on
    :ivar loads: the load of the cluster before and after the run
    :ivar fsid: the ID of the cluster
    :ivar pool: the pool of the images
    """

    document: Mapping[str, Any]
    fsid: str
    pool: str
    environment: dict[str, Any] = dataclasses.field(default_factory=dict)
    loads: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    samples: list[Sample] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def plan(self) -> plan.Plan:
        """The plan."""
        return plan.parse(self.document)

    def done(self) -> set[tuple[str, int]]:
        """Return combinations and repetitions that need no measurement."""
        return {(x.cell, x.repetition) for x in self.samples if not x.error}

    def add(self, sample: Sample) -> None:
        """Add a measurement in place of a failed one."""
        key = (sample.cell, sample.repetition)
        self.samples = [
            x for x in self.samples if (x.cell, x.repetition) != key
        ]
        self.samples.append(sample)

    def of_cell(self, cell: str) -> list[Sample]:
        """Return the measurements of a combination, failed ones too."""
        return [x for x in self.samples if x.cell == cell]

    def spread(self, cell: str) -> Spread | None:
        """Return the rates of a combination; None if there is none."""
        rates = [x.rate for x in self.of_cell(cell) if not x.error]
        return Spread.of_values(rates) if rates else None

    def is_comparable(self, other: 'Results') -> bool:
        """Return whether both have the same runs and settings."""
        return all(
            self.document[part] == other.document[part]
            for part in ('runs', 'settings')
        )


@dataclasses.dataclass(frozen=True)
class Table:
    """All variants with one load, or all loads of the only variant.

    :ivar spreads: the measurements by label, the baseline first; None for
        those that failed
    :ivar cells: the combination of each label
    """

    run: plan.Run
    load: str
    spreads: Mapping[str, Spread | None]
    cells: Mapping[str, matrix.Cell]

    @property
    def ratios(self) -> dict[str, float]:
        """Ratios of the medians to that of the baseline."""
        base = next(iter(self.spreads.values()))
        return {
            label: spread.median / base.median
            for label, spread in self.spreads.items()
            if spread and base and base.median
        }


def tables(measured: Results) -> list[Table]:
    """Return a table for each run and load that was measured."""
    known = {sample.cell for sample in measured.samples}
    groups: dict[tuple[str, str], list[matrix.Cell]] = {}
    for cell in matrix.cells(measured.plan):
        if cell.ident in known:
            load = 'by load' if cell.run.is_scaling else cell.load
            groups.setdefault((cell.run.name, load), []).append(cell)
    return [
        _table(load, group, measured) for (_, load), group in groups.items()
    ]


def _table(load: str, group: list[matrix.Cell], measured: Results) -> Table:
    run = group[0].run
    varied = [
        axis
        for axis in run.values
        if len({cell.values[axis] for cell in group}) > 1
    ]
    cells = {
        ', '.join(
            f'{axis} {value}' if value in ('on', 'off') else value
            for axis in varied
            for value in [cell.values[axis]]
        )
        or 'default': cell
        for cell in group
    }
    spreads = {x: measured.spread(cell.ident) for x, cell in cells.items()}
    return Table(run, load, spreads, cells)


def raw_name(repetition: int, cell: str) -> str:
    """Return the name of the file for the output of fio.

    A file name can be shorter than the identity of a combination, and names
    can differ only in characters that it does not contain.
    """
    start = f'{repetition}-{re.sub("[^A-Za-z0-9=.]+", "-", cell)}'
    digest = hashlib.sha256(cell.encode()).hexdigest()[:8]
    return f'{start[:150]}-{digest}.json'


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keep other runs of this host away from a folder, which is created.

    Each run saves the results that it has read or measured, and would replace
    those of the other. The lock ends with the process.

    :raises OptionError: if another run has the folder
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open('a') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.OptionError(
                '--output',
                str(folder),
                'in use by another run',
                'another folder, or this one when that run has ended',
            ) from None
        yield


def save(folder: pathlib.Path, results: Results) -> None:
    """Write results; the previous file remains if this is interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {'format': _FORMAT, **dataclasses.asdict(results)}
    whole_file.write(folder / FILE, json.dumps(content, indent=1) + '\n')


def load(folder: pathlib.Path) -> Results:
    """Return the results in a folder.

    :raises OptionError: if there are none
    """
    try:
        content = json.loads((folder / FILE).read_text())
        if content.pop('format') != _FORMAT:
            raise ValueError('created by another version')
        samples = [Sample(**sample) for sample in content.pop('samples')]
        results = Results(samples=samples, **content)
        results.plan  # noqa: B018 - it is valid
        return results
    except (
        *(OSError, ValueError),
        *(TypeError, KeyError, AttributeError, RecursionError),
    ) as error:
        raise errors.OptionError(
            'FOLDER',
            str(folder),
            f'contains no readable results ({error})',
            f'a folder in which "bench run" has written {FILE}',
        ) from None


def resumed(
    folder: pathlib.Path, whole_plan: plan.Plan, fsid: str, pool: str
) -> Results:
    """Return the existing results, which the run continues, or new ones.

    :param fsid: the ID of the cluster
    :param pool: the pool of the images
    :raises OptionError: if the folder has results that could not be compared
        with the new ones
    """
    new = Results(whole_plan.document, fsid, pool)
    if not (folder / FILE).exists():
        return new
    before = load(folder)
    if not before.is_comparable(new) or (before.fsid, before.pool) != (
        fsid,
        pool,
    ):
        raise errors.OptionError(
            '--output',
            str(folder),
            'contains results of another plan, other settings, or another '
            f'cluster or pool ({before.pool})',
            'another folder, or the plan, the settings, the cluster and the '
            'pool of these results',
        )
    # Texts and published ratios of the plan may be newer.
    return dataclasses.replace(before, document=whole_plan.document)
