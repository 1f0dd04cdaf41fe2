# SPDX-License-Identifier: Apache-2.0

"""The paths ``librbd`` and ``qemu``: fio calls librbd or QEMU."""

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


class Librbd:
    """Sends requests to an image that is created and filled before."""

    def __init__(self, around: surroundings.Surroundings) -> None:
        self._around = around

    @contextlib.contextmanager
    def prepared(self, cell: matrix.Cell) -> Iterator[surroundings.Measure]:
        """Create and fill an image for combinations; remove it afterwards."""
        around = self._around
        size = around.settings.image_size
        with (
            around.own_images.created(size, size, cell.keys) as name,
            around.own_images.held(name),
        ):
            around.fill(name)

            def measure(cell: matrix.Cell, raw: pathlib.Path) -> fio.Figures:
                mode = cache_modes.CacheMode(cell.values[plan.CACHE_MODE])
                secure = cell.values['messenger'] == 'secure'
                conf = around.conf(
                    cache=mode.uses_rbd_cache,
                    secure=secure,
                    policy=cell.values[plan.CACHE_POLICY],
                )
                env = processes.environ(
                    cell.values['allocator'], CEPH_CONF=str(conf)
                )
                options = fio.options(cell.work, around.settings)
                return self._request(cell, name, conf, options, env, raw)

            yield measure

    def _request(
        self,
        cell: matrix.Cell,
        name: str,
        conf: pathlib.Path,
        options: list[str],
        env: dict[str, str],
        raw: pathlib.Path,
    ) -> fio.Figures:
        """Send requests to an image.

        :param conf: the ceph.conf of the combination
        :param options: of fio, without those of its engine
        :param env: the environment of the program that opens the image
        """
        engine = self._around.engine(name)
        return self._around.run_fio([*options, *engine], env, raw)


class Qemu(Librbd):
    """Sends requests to an image that QEMU opens."""

    def _request(
        self,
        cell: matrix.Cell,
        name: str,
        conf: pathlib.Path,
        options: list[str],
        env: dict[str, str],
        raw: pathlib.Path,
    ) -> fio.Figures:
        around = self._around
        mode = cache_modes.CacheMode(cell.values[plan.CACHE_MODE])
        thread = cell.values['io_thread'] == 'on'
        disk = qemu.Disk(
            around.target.pool, name, conf, around.target.user, mode, thread
        )
        with qemu.exported(disk, env, around.scratch) as (socket, child):
            return around.run_fio(
                [*options, *qemu.engine(socket)],
                processes.environ(),
                raw,
                child.pid,
            )


class Kernel(Librbd):
    """Sends requests to a block device of the kernel, as a baseline.

    The host must be able to map images (module ``rbd``). If this process is
    killed, the device remains: ``rbd device unmap`` removes it, and the next
    run with the folder then removes the image.
    """

    @contextlib.contextmanager
    def prepared(self, cell: matrix.Cell) -> Iterator[surroundings.Measure]:
        """Create, fill and map an image; remove it afterwards."""
        around = self._around
        size = around.settings.image_size
        target = around.target
        rbd = ['rbd', '--conf', str(target.conf), '--id', target.user]
        with around.own_images.created(size, size, cell.keys) as name:
            around.fill(name)
            image = f'{target.pool}/{name}'
            device = processes.output([*rbd, 'device', 'map', image]).strip()

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
                processes.output([*rbd, 'device', 'unmap', device])
