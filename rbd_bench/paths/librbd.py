# SPDX-License-Identifier: Apache-2.0

"""The paths ``librbd`` and ``qemu``: fio calls librbd or QEMU."""

from collections.abc import Iterator
import contextlib
import pathlib

from rbd_bench import fio
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import processes
from rbd_bench import qemu
from rbd_bench.paths import surroundings
from rbd_volume_options import cache_modes


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
                conf = around.conf(cache=mode.uses_rbd_cache, secure=secure)
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
        with qemu.exported(disk, env, around.scratch) as socket:
            plain = processes.environ()
            return around.run_fio([*options, *qemu.engine(socket)], plain, raw)
