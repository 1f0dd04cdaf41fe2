# SPDX-License-Identifier: Apache-2.0

"""Results in a folder, as JSON. They are written after each measurement."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import pathlib
import re
from typing import Any

from rbd_bench import fields
from rbd_bench import plan
from rbd_bench import stored
from rbd_volume_tools.command_line import whole_file

FILE = 'results.json'
#: Raw output of fio, one file for each measurement.
RAW = 'fio'
_FORMAT = 1
#: The file that a run locks.
_LOCK = 'lock'


@dataclasses.dataclass(frozen=True)
class Sample:
    """A measurement.

    :ivar cell: the identity of the combination
    :ivar values: the value of each axis
    :ivar rate: operations per second; 0 if it failed
    :ivar detail: other figures, such as bytes per second and latencies
    :ivar series: operations in each second
    :ivar error: why it failed
    :ivar raw: name of the file with the output of fio; empty if there is none
    """

    run: str
    path: str
    cell: str
    values: Mapping[str, str]
    repetition: int
    rate: float
    detail: Mapping[str, float] = dataclasses.field(default_factory=dict)
    series: tuple[float, ...] = ()
    error: str = ''
    raw: str = ''


@dataclasses.dataclass
class Results:
    """The results of a plan.

    :ivar settings: of the plan, after all options
    :ivar environment: versions, cluster map, network, and so on
    :ivar loads: the load of the cluster before and after the run
    :ivar whole_plan: the plan
    :ivar fsid: the ID of the cluster
    :ivar pool: the pool of the images
    """

    plan_name: str
    settings: plan.Settings
    whole_plan: plan.Plan
    fsid: str
    pool: str
    environment: dict[str, Any] = dataclasses.field(default_factory=dict)
    loads: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    samples: list[Sample] = dataclasses.field(default_factory=list)

    def done(self) -> set[tuple[str, int]]:
        """Return combinations and repetitions that need no measurement."""
        return {
            (each.cell, each.repetition)
            for each in self.samples
            if not each.error
        }

    def add(self, sample: Sample) -> None:
        """Add a measurement in place of a failed one."""
        key = (sample.cell, sample.repetition)
        self.samples = [
            x for x in self.samples if (x.cell, x.repetition) != key
        ]
        self.samples.append(sample)

    def rates(self) -> dict[str, list[float]]:
        """Return the rates of each combination; none if it failed."""
        by_cell: dict[str, list[float]] = {x.cell: [] for x in self.samples}
        for each in self.samples:
            if not each.error:
                by_cell[each.cell].append(each.rate)
        return by_cell


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
            raise fields.refused(
                '--output',
                str(folder),
                'in use by another run',
                'another folder, or this one when that run has ended',
            ) from None
        yield


def save(folder: pathlib.Path, results: Results) -> None:
    """Write results; the previous file remains if this is interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        {'format': _FORMAT, **dataclasses.asdict(results)}, indent=1
    )
    whole_file.write(folder / FILE, text + '\n')


def load(folder: pathlib.Path) -> Results:
    """Return the results in a folder.

    :raises OptionError: if there are none
    """
    path = folder / FILE
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise ValueError('not a mapping')
        if content.pop('format') != _FORMAT:
            raise ValueError('created by another version')
        samples = [_sample(each) for each in content.pop('samples')]
        settings = plan.Settings(**content.pop('settings'))
        whole_plan = stored.restored(content.pop('whole_plan'))
        return Results(
            samples=samples,
            settings=settings,
            whole_plan=whole_plan,
            **content,
        )
    except (
        *(OSError, ValueError),
        *(TypeError, KeyError, AttributeError, RecursionError),
    ) as error:
        raise fields.refused(
            'FOLDER',
            str(folder),
            f'contains no readable results ({error})',
            f'a folder in which "bench run" has written {FILE}',
        ) from None


def _sample(content: Any) -> Sample:
    return Sample(**{**content, 'series': tuple(content['series'])})


def resumed(
    folder: pathlib.Path, whole_plan: plan.Plan, fsid: str, pool: str
) -> Results:
    """Return the existing results, which the run continues, or new ones.

    :param fsid: the ID of the cluster
    :param pool: the pool of the images
    :raises OptionError: if the folder has results of another plan, of other
        settings, or of another cluster or pool, with which the new ones could
        not be compared
    """
    if not (folder / FILE).exists():
        return Results(
            whole_plan.name,
            whole_plan.settings,
            whole_plan,
            fsid,
            pool,
        )
    before = load(folder)
    changed = stored.differences(before.whole_plan, whole_plan)
    changed += stored.differing(
        {'cluster': before.fsid, 'pool': before.pool},
        {'cluster': fsid, 'pool': pool},
    )
    if changed:
        raise fields.refused(
            '--output',
            str(folder),
            f'contains other results ({stored.joined(changed)})',
            'another folder, or the plan, the settings, the cluster and the '
            'pool of these results',
        )
    # Texts and published ratios of the plan may be newer.
    before.whole_plan = whole_plan
    return before
