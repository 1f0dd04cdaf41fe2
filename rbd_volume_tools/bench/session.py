# SPDX-License-Identifier: Apache-2.0

"""A run of a plan, which performs the missing measurements."""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import functools
import itertools
import pathlib
import tempfile
import time
from typing import NoReturn

from rbd_volume_options import errors
from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import results
from rbd_volume_tools.bench import space
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.paths import deletion
from rbd_volume_tools.bench.paths import guest
from rbd_volume_tools.bench.paths import librbd
from rbd_volume_tools.bench.paths import surroundings

#: Seconds for which the load of the cluster is measured before and after a
#: run.
WATCHED = 10.0
#: Seconds after which the counters of pools are up to date.
_LAG = 6.0

#: Called with the measurements done, and their total.
Progress = Callable[[int, int], None]


class Session:
    """A run of a plan.

    :param folder: for results; may contain earlier ones
    :param say: shows a line to the operator
    :param place: the cloud for the path ``guest``; without it no combination
        of this path can be measured
    """

    def __init__(
        self,
        target: surroundings.Target,
        whole_plan: plan.Plan,
        folder: pathlib.Path,
        say: Callable[[str], None] = lambda line: None,
        place: cloud.Cloud | None = None,
    ) -> None:
        self._target = target
        self._place = place
        self._settings = whole_plan.settings
        self._folder = folder
        self._say = say
        self._said: set[str] = set()
        self._images: images.Images | None = None
        self.results = results.resumed(
            folder, whole_plan, target.cluster.get_fsid(), target.pool
        )

    def run(
        self,
        cells: Sequence[matrix.Cell],
        progress: Progress = lambda done, total: None,
        watched: float = WATCHED,
    ) -> None:
        """Measure the combinations without a result.

        Each repetition measures all of them once, so that a load that changes
        with time affects all of them equally.

        :param watched: seconds for which the load of the cluster is measured
        :raises OptionError: if the pool or the limit is too small
        """
        target = self._target
        with contextlib.ExitStack() as stack:
            around = self._around(stack)
            waiting = self._waiting(cells)
            self._check(waiting, around)
            self._paths = _paths(around)
            # Earlier facts remain if the run continues without the cloud.
            of_guest = self.results.environment.get('guest', {})
            if self._place is not None:
                of_path = stack.enter_context(
                    guest.opened(around, self._place, of_guest)
                )
                self._paths[plan.GUEST] = of_path.prepared
            self._watch('before', watched)
            environment = facts.gather(
                target.cluster, target.pool, self._space.data_pool
            )
            environment['pool']['overrides'] = facts.overrides(
                target.librbd, around.own_images.ioctx
            )
            environment['options'].update(target.options)
            environment['guest'] = of_guest
            self.results.environment = environment
            self._measure_all(waiting, progress)
            # The counters are delayed and still include the requests of the
            # benchmark.
            time.sleep(min(watched, _LAG))
            self._watch('after', watched)

    def _around(
        self, stack: contextlib.ExitStack
    ) -> surroundings.Surroundings:
        """Return what the paths use, after the removal of old images."""
        target = self._target
        self._space = space.Space(target.cluster, target.pool)
        own = self._images = stack.enter_context(
            images.opened(
                *(target.cluster, target.librbd, target.pool, target.limit),
                *(self._folder, self._say),
            )
        )
        try:
            # The pool or the options of the client can set a data pool.
            self._space.use(own.prepare())
        except (processes.EngineError, target.librbd.Error) as error:
            raise errors.OptionError(
                '--pool',
                target.pool,
                f'no image can be created ({error})',
                'a pool in which --ceph-user can create images',
            ) from error
        scratch = tempfile.TemporaryDirectory(prefix='rbd-bench-')
        return surroundings.Surroundings(
            target,
            self._settings,
            own,
            self._space,
            pathlib.Path(stack.enter_context(scratch)),
            self._say,
        )

    @property
    def not_removed(self) -> list[str]:
        """Messages about what exists now."""
        names = self._images.present if self._images else []
        remaining = [images.not_removed(self._target.pool, x) for x in names]
        if names and self._place:
            remaining.append(
                'A server and volumes with one of these names can remain too; '
                'the next run with --server-image and the same folder removes '
                'them'
            )
        return remaining

    def _waiting(
        self, cells: Sequence[matrix.Cell]
    ) -> list[tuple[int, matrix.Cell]]:
        done = self.results.done()
        return [
            (repetition, cell)
            for repetition in range(self._settings.repetitions)
            for cell in cells
            if (cell.ident, repetition) not in done
        ]

    def _check(
        self,
        waiting: Sequence[tuple[int, matrix.Cell]],
        around: surroundings.Surroundings,
    ) -> None:
        """Check the limit and the pool before data is written."""
        needed = max(
            (matrix.data_bytes(cell, self._settings) for _, cell in waiting),
            default=0,
        )
        around.own_images.check(needed)
        around.space.check(needed)

    def _watch(self, when: str, seconds: float) -> None:
        load = facts.observe(self._target.cluster, seconds)
        self.results.loads.append({'when': when, **load})
        results.save(self._folder, self.results)

    def _measure_all(
        self,
        waiting: Sequence[tuple[int, matrix.Cell]],
        progress: Progress,
    ) -> None:
        done = 0
        progress(0, len(waiting))

        def add(sample: results.Sample) -> None:
            nonlocal done
            self.results.add(sample)
            results.save(self._folder, self.results)
            done += 1
            progress(done, len(waiting))

        for _, group in itertools.groupby(
            waiting, lambda each: (each[0], each[1].image)
        ):
            self._measure_group(list(group), add)

    def _measure_group(
        self,
        group: Sequence[tuple[int, matrix.Cell]],
        add: Callable[[results.Sample], None],
    ) -> None:
        """Measure combinations of one image."""
        first = group[0][1]
        try:
            with contextlib.ExitStack() as stack:
                measure = self._prepared(stack, first)
                for repetition, cell in group:
                    add(self._guarded(repetition, cell, measure))
        except self._target.librbd.Error as error:
            # Only the end of the context raises this, after the measurements.
            self._say(f'{first.ident}: the image was not closed: {error}')

    def _prepared(
        self, stack: contextlib.ExitStack, cell: matrix.Cell
    ) -> surroundings.Measure:
        """Prepare an image; return the function that measures, or fails."""
        path = self._paths[cell.run.path]
        try:
            self._space.require(matrix.data_bytes(cell, self._settings))
            return stack.enter_context(path(cell))
        except self._failures as error:
            return _failing(error)

    @property
    def _failures(self) -> tuple[type[Exception], ...]:
        """The errors of one combination, after which the others are measured.

        If the cluster is lost, the next query of it ends the run.
        """
        librbd = self._target.librbd.Error
        return processes.EngineError, errors.OptionError, librbd

    def _guarded(
        self,
        repetition: int,
        cell: matrix.Cell,
        measure: surroundings.Measure,
    ) -> results.Sample:
        """Return a measurement, or its error."""
        file = results.raw_name(repetition, cell.ident)
        try:
            figures = measure(cell, self._folder / results.RAW / file)
        except self._failures as error:
            if str(error) not in self._said:
                self._said.add(str(error))
                self._say(f'{cell.ident}: {error}')
            return results.Sample(cell.ident, repetition, 0.0, {}, str(error))
        return results.Sample(
            cell.ident, repetition, figures.rate, dict(figures.detail)
        )


def _failing(error: Exception) -> surroundings.Measure:
    def measure(cell: matrix.Cell, raw: pathlib.Path) -> NoReturn:
        raise error

    return measure


def _paths(
    around: surroundings.Surroundings,
) -> dict[str, surroundings.Path]:
    return {
        plan.LIBRBD: functools.partial(librbd.direct, around),
        plan.KRBD: functools.partial(librbd.kernel, around),
        plan.QEMU: functools.partial(librbd.direct, around),
        plan.DELETION: functools.partial(deletion.prepared, around),
    }
