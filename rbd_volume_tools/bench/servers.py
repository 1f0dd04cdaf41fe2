# SPDX-License-Identifier: Apache-2.0

"""Measures the disks of three servers, as section 4 of CERN's report does.

Each server has a formatted disk of another size. hdparm, fio and dd measure
each disk alone, then all three at once, in the guest's page cache or past it.
A small volume of the Ceph pool, the control volume, gives a server its jobs,
so that the measured disks can be those of any back end.

Everything has the name of an image that the run holds open; see
:mod:`rbd_volume_tools.bench.guest.cloud`. What a killed run leaves, the next
run with the same folder removes.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import json
import pathlib
import time
from typing import Any

from rbd_volume_options import keys
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import api
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.guest import job
from rbd_volume_tools.bench.paths import guest
from rbd_volume_tools.command_line import whole_file

FILE = 'servers.json'
#: Size of the image that marks the run, in bytes. It stays empty.
MARK = 2**20

#: Characters of the ID of a volume that a guest sees as the serial number.
_SERIAL = 20
#: Seconds until servers that begin together have read their jobs.
_LEAD = 15
#: Seconds for a repetition, besides fio: hdparm, the files of fio, and dd.
_PATIENCE = 600.0
TOGETHER = 'together'
BUFFERED = 'buffered'
DIRECT = 'direct'


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured; see the options of the command.

    :ivar volume_type: None for Cinder's default
    :ivar striped: a type with another layout, which CERN did not measure
    :ivar beside: the type of a second back end
    :ivar sizes: GiB of the disk of each server
    :ivar runtime: seconds of each run of fio
    :ivar workers: processes of each of fio's four jobs
    :ivar file_size: MiB of the file of a process
    :ivar dd_small: MiB of the smaller file of dd
    :ivar dd_large: MiB of the larger one
    """

    volume_type: str | None
    cache_modes: Sequence[str]
    striped: str | None
    beside: str | None
    access: Sequence[str]
    sizes: Sequence[int]
    repetitions: int
    runtime: int
    workers: int
    file_size: int
    dd_small: int
    dd_large: int

    @property
    def variants(self) -> dict[str, 'Variant']:
        """The variants, in the order of their measurements.

        By cache mode, ``striped`` or ``beside``.
        """
        variants = {
            mode: Variant(self.volume_type, mode) for mode in self.cache_modes
        }
        for name in ('striped', 'beside'):
            if volume_type := getattr(self, name):
                variants[name] = Variant(volume_type)
        return variants


@dataclasses.dataclass(frozen=True)
class Variant:
    """What the disks of a measurement have in common.

    :ivar volume_type: None for Cinder's default
    :ivar cache_mode: empty for that of the back end
    """

    volume_type: str | None
    cache_mode: str = ''

    @property
    def label(self) -> str:
        """The name in the report."""
        parts = (self.volume_type or 'default type', self.cache_mode)
        return ', '.join(filter(None, parts))


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The figures of one disk.

    :ivar variant: the label of the variant
    :ivar access: :data:`BUFFERED` or :data:`DIRECT`
    :ivar scenario: ``alone`` or :data:`TOGETHER`
    :ivar size: GiB of the disk
    :ivar figures: MB/s of each repetition, by name
    """

    variant: str
    access: str
    scenario: str
    size: int
    figures: Mapping[str, Sequence[float]]


class Servers:
    """The servers of a run, each with its control volume.

    :param name: of all servers and volumes
    :param write: writes the beginning of a volume, given its ID
    """

    def __init__(
        self,
        place: cloud.Cloud,
        name: str,
        settings: Settings,
        write: Callable[[str, bytes], None],
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._place = place
        self._name = name
        self._settings = settings
        self._write = write
        self._say = say
        self._number = 0
        self._servers: list[str] = []
        self._controls: list[str] = []

    def boot(self) -> None:
        """Boot the servers, and wait until they wait for jobs."""
        for _ in self._settings.sizes:
            server = self._place.boot(self._name, job.program())
            self._servers.append(str(server['id']))
        for ident in self._servers:
            api.wait(
                functools.partial(self._is_ready, ident),
                'the guest is not ready',
            )
            control = self._place.create_volume(self._name, 1, {})
            self._write(control, bytes(job.BYTES))
            self._place.attach(ident, control)
            self._controls.append(control)

    def measure(self, variant: Variant) -> Iterator[Measurement]:
        """Yield the measurements of a variant; its volumes are removed."""
        volumes = []
        mode = {keys.CACHE_MODE: variant.cache_mode}
        metadata = mode if variant.cache_mode else {}
        try:
            for server, size in zip(
                self._servers, self._settings.sizes, strict=True
            ):
                volume = self._place.create_volume(
                    self._name, size, metadata, variant.volume_type
                )
                volumes.append(volume)
                self._place.attach(server, volume)
            yield from self._measure(variant, volumes)
        finally:
            for server, volume in zip(self._servers, volumes, strict=False):
                with contextlib.suppress(processes.EngineError):
                    self._place.detach(server, volume)
            self._place.remove_volumes(self._name, set(self._controls))

    def _measure(
        self, variant: Variant, volumes: Sequence[str]
    ) -> Iterator[Measurement]:
        everything = list(range(len(volumes)))
        is_formatted = False
        for access in self._settings.access:
            groups = [[place] for place in everything]
            if len(everything) > 1:
                groups.append(everything)
            for group in groups:
                is_together = len(group) > 1
                scenario = TOGETHER if is_together else 'alone'
                self._say(f'{variant.label}, {access}, {scenario}')
                texts = self._run(
                    [(place, volumes[place]) for place in group],
                    access == DIRECT,
                    not is_formatted and not is_together,
                )
                for place, text in texts.items():
                    yield Measurement(
                        variant.label,
                        access,
                        scenario,
                        self._settings.sizes[place],
                        figures(text),
                    )
            is_formatted = True

    def _run(
        self,
        disks: Sequence[tuple[int, str]],
        direct: bool,
        is_new: bool,
    ) -> dict[int, str]:
        """Give servers a job each; return their results by their place."""
        self._number += 1
        settings = self._settings
        options = {
            'format': str(int(is_new)),
            'start': str(int(time.time()) + _LEAD * (len(disks) > 1)),
            'direct': str(int(direct)),
            'repetitions': str(settings.repetitions),
            'runtime': str(settings.runtime),
            'processes': str(settings.workers),
            'file_size': f'{settings.file_size}m',
            'dd_small': str(settings.dd_small),
            'dd_large': str(settings.dd_large),
        }
        for place, volume in disks:
            serial = {'serial': volume[:_SERIAL]}
            content = job.packed(self._number, {**serial, **options})
            self._write(self._controls[place], content)
        limit = settings.repetitions * (2 * settings.runtime + _PATIENCE)
        return {
            place: api.wait(
                functools.partial(self._finished, place),
                'the guest has written no results',
                limit,
            )
            for place, _ in disks
        }

    def _is_ready(self, server: str) -> bool:
        return job.is_ready(self._place.console(server))

    def _finished(self, place: int) -> str | None:
        console = self._place.console(self._servers[place])
        return job.finished(console, self._number)


def run(
    own: images.Images,
    place: cloud.Cloud,
    settings: Settings,
    folder: pathlib.Path,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[list[Measurement]]:
    """Yield all measurements until now, after each variant.

    The results are written before.

    :param own: the images of the run
    :raises EngineError: if the cloud refuses something, or a job fails
    """
    place.check()
    guest.remove_leftovers(own, place, say)

    def write(volume: str, content: bytes) -> None:
        with own.held(f'volume-{volume}') as image:
            image.write(content, 0)

    with own.created(MARK, 0, {}) as name, own.held(name):
        group = Servers(place, name, settings, write, say)
        measured: list[Measurement] = []
        try:
            group.boot()
            for variant in settings.variants.values():
                measured += group.measure(variant)
                content: list[Any] = [dataclasses.asdict(x) for x in measured]
                whole_file.write(folder / FILE, json.dumps(content, indent=1))
                yield measured
        finally:
            guest.remove(place, name, say)


def figures(text: str) -> dict[str, list[float]]:
    """Return the figures in the results of a guest, in MB/s, by name.

    :raises processes.EngineError: if they are incomplete
    """
    by_name: dict[str, list[float]] = {}
    try:
        for line in text.splitlines():
            name, _, value = line.partition(' ')
            if name.startswith('hdparm_'):
                by_name.setdefault(name, []).append(float(value))
            elif name.startswith('dd_'):
                mib, taken = value.split()
                rate = int(mib) * 1.048576 / max(float(taken), 0.01)
                by_name.setdefault(name, []).append(rate)
            elif name.startswith('fio_'):
                (done,) = json.loads(value)['jobs']
                for side in ('read', 'write'):
                    rate = done[side]['bw_bytes'] / 1e6
                    by_name.setdefault(f'{name}_{side}', []).append(rate)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise processes.EngineError(
            f'the results of the guest cannot be read: {error!r}'
        ) from error
    if set(by_name) != set(NAMES) or len({*map(len, by_name.values())}) > 1:
        raise processes.EngineError(
            f'the guest measured only {", ".join(by_name) or "nothing"}'
        )
    return by_name


#: The figures, in the order of the report.
NAMES = (
    *('hdparm_cached', 'hdparm_buffered', 'hdparm_direct'),
    *('fio_random_read', 'fio_random_write'),
    *('fio_sequential_read', 'fio_sequential_write'),
    *('dd_small_write', 'dd_small_read', 'dd_large_write', 'dd_large_read'),
)
