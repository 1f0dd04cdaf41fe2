# SPDX-License-Identifier: Apache-2.0

"""The combinations of a plan."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools

from rbd_volume_options import errors
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench.guest import job

#: Axes that describe the load. The other axes describe the volume.
LOAD = ('workload', 'size')


@dataclasses.dataclass(frozen=True)
class Cell:
    """A combination, which is measured several times.

    :ivar values: the value of each axis
    """

    run: plan.Run
    values: Mapping[str, str]

    @property
    def ident(self) -> str:
        """The identity of the combination, which is the same in each run."""
        values = (f'{x}={y}' for x, y in sorted(self.values.items()))
        return '/'.join((self.run.name, *values))

    @property
    def work(self) -> plan.Workload:
        """The workload that the values name."""
        (work,) = (
            work
            for work in self.run.workloads
            if work.name == self.values['workload']
        )
        return work

    @property
    def load(self) -> str:
        """The values of the axes that describe the load."""
        return ', '.join(self.values[x] for x in LOAD if x in self.values)

    @property
    def keys(self) -> plan.Keys:
        """The keys of the image's layout and features."""
        layout = self.run.layouts[self.values['layout']]
        return {**layout, **self.run.features[self.values['features']]}

    @property
    def image(self) -> tuple[str, ...]:
        """The values by which cells can share an image."""
        names = ('layout', 'features', 'size')
        return (self.run.name, *(self.values.get(x, '') for x in names))


def cells(whole_plan: plan.Plan) -> list[Cell]:
    """Return all combinations of a plan, grouped by image."""
    return [
        Cell(run, dict(zip(run.values, values, strict=True)))
        for run in whole_plan.runs
        for values in itertools.product(*run.values.values())
    ]


def parse_selection(
    whole_plan: plan.Plan, words: Iterable[str]
) -> dict[str, set[str]]:
    """Return the values that are selected for each axis.

    :param words: ``axis=value``, also ``run=name`` and ``path=name``
    :raises OptionError: for an unknown axis or value
    """
    known: dict[str, set[str]] = {
        'run': {run.name for run in whole_plan.runs},
        'path': {run.path for run in whole_plan.runs},
    }
    for run in whole_plan.runs:
        for axis, values in run.values.items():
            known.setdefault(axis, set()).update(values)
    by_axis: dict[str, set[str]] = {}
    for word in words:
        axis, _, value = word.partition('=')
        if value not in known.get(axis, ()):
            allowed = sorted(known.get(axis, known))
            raise errors.OptionError(
                '--select', word, 'not in the plan', ', '.join(allowed)
            )
        by_axis.setdefault(axis, set()).add(value)
    return by_axis


def select(
    all_cells: Sequence[Cell], selection: Mapping[str, Collection[str]]
) -> list[Cell]:
    """Return the cells of a selection.

    A run without a selected axis has no cells in the selection.

    :raises OptionError: if there is none
    """

    def has(cell: Cell) -> bool:
        values = {**cell.values, 'run': cell.run.name, 'path': cell.run.path}
        return all(
            values.get(axis) in allowed for axis, allowed in selection.items()
        )

    selected = [cell for cell in all_cells if has(cell)]
    if not selected:
        chosen = [
            f'{axis}={value}'
            for axis, allowed in selection.items()
            for value in sorted(allowed)
        ]
        raise errors.OptionError(
            '--select',
            ' '.join(chosen),
            'no combination has all of these values',
            'values of the same run (see --dry-run without --select)',
        )
    return selected


def data_bytes(cell: Cell, settings: plan.Settings) -> int:
    """Return the maximum bytes of data that a cell writes to an image."""
    if cell.run.path == plan.DELETION:
        # The images are empty.
        return 0
    if cell.run.path == plan.GUEST:
        return job.OFFSET + settings.image_size
    return settings.image_size


def seconds(cell: Cell, settings: plan.Settings) -> float:
    """Return the estimated duration of one measurement."""
    if cell.run.path == plan.DELETION:
        return 10.0
    # The start of programs, or an attachment and a detachment.
    extra = 15.0 if cell.run.path == plan.GUEST else 2.0
    return settings.warm_up + settings.runtime + extra
