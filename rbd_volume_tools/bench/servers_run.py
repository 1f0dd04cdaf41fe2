# SPDX-License-Identifier: Apache-2.0

"""A run of ``bench servers``: variants, leftovers, results and report."""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import json
import pathlib
from typing import Any

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import servers
from rbd_volume_tools.bench import servers_report
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.paths import guest
from rbd_volume_tools.command_line import whole_file

FILE = 'servers.json'
#: Size of the image that marks the run, in bytes. It stays empty.
_MARK = 2**20


@dataclasses.dataclass(frozen=True)
class Target:
    """The cluster and the cloud of a run.

    :ivar cluster: a connection of librados
    :ivar librbd: the module ``rbd``
    """

    cluster: Any
    librbd: Any
    pool: str
    place: cloud.Cloud


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What the operator has chosen; see the options of the command."""

    volume_type: str | None
    cache_modes: Sequence[str]
    striped: str | None
    beside: str | None
    accesses: Sequence[str]

    @property
    def variants(self) -> list[servers.Variant]:
        """The variants, in the order of their measurements."""
        variants = [
            servers.Variant(self.volume_type, mode)
            for mode in self.cache_modes
        ]
        others = (self.striped, self.beside)
        return [*variants, *(servers.Variant(x) for x in others if x)]

    @property
    def labels(self) -> servers_report.Labels:
        """The variants that the report of CERN compares."""

        def of_mode(mode: str) -> str:
            if mode not in self.cache_modes:
                return ''
            return servers.Variant(self.volume_type, mode).label

        return servers_report.Labels(
            of_mode('none'),
            of_mode('writeback'),
            of_mode('writethrough'),
            self.striped or '',
            self.beside or '',
        )


def run(
    target: Target,
    settings: servers.Settings,
    chosen: Chosen,
    folder: pathlib.Path,
    say: Callable[[str], None] = lambda line: None,
) -> list[pathlib.Path]:
    """Measure all variants; return the paths of the report.

    The results and the report are written after each variant.

    :raises EngineError: if the cloud refuses something, or a job fails
    """
    place = target.place
    place.check()
    ioctx = target.cluster.open_ioctx(target.pool)
    try:
        features = images.default_features(
            target.cluster.conf_get('rbd_default_features')
        )
        own = images.Images(
            *(target.librbd, ioctx, features, _MARK),
            folder / images.JOURNAL,
            say,
        )
        own.sweep()
        guest.remove_leftovers(own, place, say)

        def write(volume: str, content: bytes) -> None:
            with target.librbd.Image(ioctx, f'volume-{volume}') as image:
                image.write(content, 0)

        with own.created(_MARK, 0, {}) as name, own.held(name):
            group = servers.Servers(place, name, settings, write, say)
            measured: list[servers.Measurement] = []
            paths: list[pathlib.Path] = []
            try:
                group.boot()
                for variant in chosen.variants:
                    measured += group.measure(variant, chosen.accesses)
                    content = [dataclasses.asdict(x) for x in measured]
                    whole_file.write(
                        folder / FILE, json.dumps(content, indent=1)
                    )
                    paths = servers_report.write(
                        folder, measured, chosen.labels, settings
                    )
            finally:
                guest.remove(place, name, say)
            return [folder / FILE, *paths]
    finally:
        ioctx.close()
