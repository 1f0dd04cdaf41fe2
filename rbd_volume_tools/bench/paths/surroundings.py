# SPDX-License-Identifier: Apache-2.0

"""The surroundings of a run, which all paths share."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import pathlib
from typing import Any

from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import space

#: Modes of messages to the cluster, by the names that plans use.
_MESSENGERS = ('ms_client_mode', 'ms_mon_client_mode')


#: Measures a combination. Takes the file for the output of fio.
Measure = Callable[[matrix.Cell, pathlib.Path], fio.Figures]
#: Returns a context for the combinations of one image, given one of them. It
#: raises EngineError if none of them can be measured.
Path = Callable[[matrix.Cell], contextlib.AbstractContextManager[Measure]]

_FILL_SECONDS = 3600


@dataclasses.dataclass(frozen=True)
class Target:
    """The cluster and the client for a run.

    :ivar cluster: a connection of librados
    :ivar librbd: the module ``rbd``
    :ivar conf: path of ceph.conf
    :ivar limit: maximum bytes of data at one time
    :ivar options: the options of the client, where those of the connection
        differ
    """

    cluster: Any
    librbd: Any
    conf: pathlib.Path
    user: str
    pool: str
    limit: int
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What the paths use.

    :ivar space: the pools of the run
    :ivar scratch: a folder for files that are removed after the run
    :ivar say: shows a line to the operator
    """

    target: Target
    settings: plan.Settings
    own_images: images.Images
    space: space.Space
    scratch: pathlib.Path
    say: Callable[[str], None]

    def conf(
        self, *, cache: bool, secure: bool, policy: str = ''
    ) -> pathlib.Path:
        """Write a configuration file and return its path.

        The file is a copy of the operator's, with options in the section of
        the user. They override other sections and the options that the
        monitors store.

        :param cache: whether to enable the cache of librbd. QEMU overrides
            this.
        :param secure: whether messages are encrypted
        :param policy: of the cache; empty for that of the operator
        """
        base = self.target.conf
        lines = [f'[client.{self.target.user}]']
        lines.append(f'rbd_cache = {str(cache).lower()}')
        # The operator's file may set either mode.
        mode = 'secure' if secure else 'crc secure'
        lines += [f'{option} = {mode}' for option in _MESSENGERS]
        if policy:
            lines.append(f'rbd_cache_policy = {policy}')
        # The file keeps its name, because Ceph derives the name of the cluster
        # from it.
        name = f'{cache}-{mode.partition(" ")[0]}-{policy}'
        path = self.scratch / name / base.name
        path.parent.mkdir(exist_ok=True)
        text = base.read_text().rstrip()
        path.write_text('\n'.join([text, '', *lines, '']))
        return path

    def engine(self, name: str) -> list[str]:
        """Return the options of fio that send requests through librbd."""
        return fio.rbd_engine(self.target.pool, name, self.target.user)

    def fill(self, name: str, *more: str) -> None:
        """Write the whole image, because reads of missing objects are fast.

        :param more: options of fio
        """
        conf = self.conf(cache=False, secure=False)
        fio.run(
            [*fio.FILL, *self.engine(name), *more],
            processes.environ(CEPH_CONF=str(conf)),
            self.scratch / 'fill.json',
            _FILL_SECONDS,
        )

    def run_fio(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        raw: pathlib.Path,
        client: int | None = None,
    ) -> fio.Figures:
        """Run fio for the time of a measurement and return its figures.

        :param raw: the file for its output
        :param client: the process that sends the requests, if not fio
        """
        raw.parent.mkdir(exist_ok=True)
        seconds = self.settings.warm_up + self.settings.runtime
        return fio.figures(fio.run(arguments, env, raw, seconds, client))
