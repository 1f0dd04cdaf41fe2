# SPDX-License-Identifier: Apache-2.0

"""The path ``deletion``: librbd deletes empty images."""

from collections.abc import Iterator
from concurrent import futures
import contextlib
import pathlib
import time

from rbd_volume_options import sizes
from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.paths import surroundings


@contextlib.contextmanager
def prepared(
    around: surroundings.Surroundings, cell: matrix.Cell
) -> Iterator[surroundings.Measure]:
    """Create and delete an image for each measurement."""

    def measure(cell: matrix.Cell, raw: pathlib.Path) -> fio.Figures:
        """Delete an image.

        :raises processes.EngineError: if the first attempt failed
        """
        size = sizes.parse_size('size', cell.values['size'])
        with around.own_images.created(size, 0, cell.keys) as name:
            began = time.monotonic()
            gone = _wait_for_removal(around, name)
            taken = time.monotonic() - began
            if not gone:
                # A wait for another client is not part of a deletion.
                raise processes.EngineError(
                    f'image {name} was not removed at the first attempt, '
                    'because another client had it open'
                )
        return fio.Figures(1 / taken, {'seconds': taken})

    yield measure


def _wait_for_removal(around: surroundings.Surroundings, name: str) -> bool:
    """Remove an image in a thread, so that Ctrl-C is handled meanwhile.

    Return whether it is gone after one attempt.
    """
    with futures.ThreadPoolExecutor(1) as thread:
        removal = thread.submit(around.own_images.remove, name, 0)
        try:
            return removal.result()
        except KeyboardInterrupt:
            around.say(f'Waiting for the deletion of {name}.')
            raise
