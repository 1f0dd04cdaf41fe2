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

"""The path ``qemu``: fio sends requests to QEMU's block layer."""

import pathlib

from rbd_bench import fio
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import processes
from rbd_bench import qemu
from rbd_bench.paths import librbd
from rbd_volume_options import cache_modes


class Qemu(librbd.Librbd):
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
