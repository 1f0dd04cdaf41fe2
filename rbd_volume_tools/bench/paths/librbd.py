# SPDX-License-Identifier: Apache-2.0

"""The paths ``librbd``, ``qemu`` and ``krbd``: fio and an image."""

from collections.abc import Iterator
import contextlib
import pathlib

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import qemu
from rbd_volume_tools.bench.paths import surroundings


@contextlib.contextmanager
def _filled(
    around: surroundings.Surroundings, cell: matrix.Cell
) -> Iterator[str]:
    """Yield the name of an image with data; remove it afterwards."""
    size = around.settings.image_size
    with around.own_images.created(size, size, cell.keys) as name:
        around.fill(name)
        yield name


@contextlib.contextmanager
def direct(
    around: surroundings.Surroundings, cell: matrix.Cell
) -> Iterator[surroundings.Measure]:
    """Have fio send requests through librbd, or through QEMU."""
    with _filled(around, cell) as name, around.own_images.held(name):

        def measure(cell: matrix.Cell, raw: pathlib.Path) -> fio.Figures:
            mode = cache_modes.CacheMode(cell.values[plan.CACHE_MODE])
            conf = around.conf(
                cache=mode.uses_rbd_cache,
                secure=cell.values['messenger'] == 'secure',
                policy=cell.values[plan.CACHE_POLICY],
            )
            # Of the program that opens the image.
            env = processes.environ(
                cell.values['allocator'], CEPH_CONF=str(conf)
            )
            options = fio.options(cell.work, around.settings)
            target = around.target
            if cell.run.path == plan.LIBRBD:
                return around.run_fio(
                    [*options, *around.engine(name)], env, raw
                )
            thread = cell.values['io_thread'] == 'on'
            disk = qemu.Disk(
                target.pool, name, conf, target.user, mode, thread
            )
            with qemu.exported(disk, env, around.scratch) as (socket, child):
                return around.run_fio(
                    [*options, *qemu.engine(socket)],
                    processes.environ(),
                    raw,
                    child.pid,
                )

        yield measure


@contextlib.contextmanager
def kernel(
    around: surroundings.Surroundings, cell: matrix.Cell
) -> Iterator[surroundings.Measure]:
    """Have fio send requests to a block device of the kernel, as a baseline.

    The host must be able to map images (module ``rbd``). If this process is
    killed, the device remains: ``rbd device unmap`` removes it, and the next
    run with the folder then removes the image.
    """
    target = around.target
    rbd = ['rbd', '--conf', str(target.conf), '--id', target.user, 'device']
    with _filled(around, cell) as name:
        image = f'{target.pool}/{name}'
        device = processes.output([*rbd, 'map', image]).strip()

        def measure(cell: matrix.Cell, raw: pathlib.Path) -> fio.Figures:
            return around.run_fio(
                [
                    *fio.options(cell.work, around.settings),
                    *('--ioengine=libaio', '--direct=1'),
                    f'--filename={device}',
                ],
                processes.environ(),
                raw,
            )

        try:
            yield measure
        finally:
            processes.output([*rbd, 'unmap', device])
