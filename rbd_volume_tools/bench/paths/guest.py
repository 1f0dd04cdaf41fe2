# SPDX-License-Identifier: Apache-2.0

"""The path ``guest``: fio sends requests to a disk of a server."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import pathlib
import time
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import sizes
from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import api
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.guest import job
from rbd_volume_tools.bench.paths import surroundings

#: Size of the image that marks the run, in bytes. It stays empty.
_MARK = 2**20
_UNVERIFIED = (
    'The cache modes are not verified: the API does not show those of '
    'attachments. Enable the API extension to verify them.'
)
#: Seconds by which fio may exceed its configured time.
_LATE = 120.0


@contextlib.contextmanager
def opened(
    around: surroundings.Surroundings,
    place: cloud.Cloud,
    facts: dict[str, Any],
) -> Iterator['Guest']:
    """Yield the path; remove its server and its volumes afterwards.

    What killed runs have left is removed before.

    :param facts: receives facts about the server, and the cache of the disk
        by cache mode
    :raises OptionError: if the cloud has no such image, flavor or network
    """
    place.check()
    remove_leftovers(around.own_images, place, around.say)
    with (
        around.own_images.created(_MARK, 0, {}) as name,
        around.own_images.held(name),
    ):
        try:
            yield Guest(around, place, name, facts)
        finally:
            remove(place, name, around.say)


def remove_leftovers(
    own: images.Images, place: cloud.Cloud, say: Callable[[str], None]
) -> None:
    """Remove the servers and volumes that killed runs left behind."""
    for name in sorted(own.created_names & {*place.left()} - {*own.left()}):
        say(
            f'Removing the servers and the volumes {name}, which an earlier '
            'run left behind.'
        )
        remove(place, name, say)


def remove(place: cloud.Cloud, name: str, say: Callable[[str], None]) -> None:
    """Remove servers and volumes, or say what remains."""
    try:
        place.remove(name)
    except processes.EngineError as error:
        say(f'{error}. The next run with the same folder removes it.')


class Guest:
    """Attaches a volume to a server for each combination.

    :param name: of the server and the volumes
    """

    def __init__(
        self,
        around: surroundings.Surroundings,
        place: cloud.Cloud,
        name: str,
        facts: dict[str, Any],
    ) -> None:
        self._around = around
        self._place = place
        self._name = name
        self._server = ''
        self._is_attached = False
        self._number = 0
        self._broken: processes.EngineError | None = None
        self._facts = facts

    @contextlib.contextmanager
    def prepared(self, cell: matrix.Cell) -> Iterator[surroundings.Measure]:
        """Create and fill a volume for combinations; remove it afterwards.

        :raises processes.EngineError: if there is no server or no volume
        """
        around, place = self._around, self._place
        size = around.settings.image_size
        with around.own_images.counted(job.OFFSET + size):
            try:
                self._boot()
                gib = -(-(job.OFFSET + size) // sizes.GIB)
                volume = place.create_volume(self._name, gib, cell.keys)
                image = f'volume-{volume}'
                self._check(image, cell.keys)
                part = (f'--offset={job.OFFSET}', f'--size={size}')
                around.fill(image, *part)

                def measure(
                    cell: matrix.Cell, raw: pathlib.Path
                ) -> fio.Figures:
                    return self._measure(cell, volume, image, raw)

                yield measure
            finally:
                self._clean()

    def _clean(self) -> None:
        """Remove the volume, or say what remains."""
        try:
            if self._is_attached:
                self._discard()
            self._place.remove_volumes(self._name)
        except processes.EngineError as error:
            self._around.say(str(error))

    def _boot(self) -> None:
        """Boot the server, if there is none.

        :raises processes.EngineError: if this failed, now or before
        """
        if self._broken:
            raise self._broken
        if self._server:
            return
        place = self._place
        try:
            server = place.boot(self._name, job.program())
            ident = str(server['id'])
            api.wait(
                lambda: job.is_ready(place.console(ident)),
                'the guest is not ready',
            )
        except processes.EngineError as error:
            # Another attempt would take minutes and fail again.
            self._broken = error
            raise
        self._server = ident
        self._facts.update(place.described(server))

    def _discard(self) -> None:
        """Remove the server, from which a volume was not detached."""
        self._server = ''
        self._place.remove_servers(self._name)
        self._is_attached = False

    def _check(self, image: str, wanted: plan.Keys) -> None:
        """Check the pool, the layout and the features of the volume.

        :raises processes.EngineError: if it has others than the combination
        """
        around = self._around
        librbd = around.target.librbd
        try:
            with librbd.Image(
                around.own_images.ioctx, image, read_only=True
            ) as disk:
                different = images.differences(disk, wanted)
                data_pool = around.space.named(disk.data_pool_id())
        except librbd.ImageNotFound:
            raise processes.EngineError(
                f'{image} is not in the pool {around.target.pool}; choose '
                'another --pool or --volume-type'
            ) from None
        if different:
            raise processes.EngineError(
                f'{image} does not have what its metadata requests '
                f'({"; ".join(different)}); use a back end with this driver '
                'that allows these keys, or another --volume-type'
            )
        around.space.require(around.settings.image_size, data_pool)

    def _measure(
        self, cell: matrix.Cell, volume: str, image: str, raw: pathlib.Path
    ) -> fio.Figures:
        """Send requests in the guest."""
        if self._is_attached:
            self._discard()
        self._boot()
        around, place = self._around, self._place
        mode = cell.values[plan.CACHE_MODE]
        policy = cell.values[plan.CACHE_POLICY]
        self._number += 1
        with around.target.librbd.Image(
            around.own_images.ioctx, image
        ) as disk:
            disk.write(job.encode(self._number, cell.work, around.settings), 0)
            disk.metadata_set('conf_rbd_cache_policy', policy)
        place.set_metadata(volume, keys.CACHE_MODE, mode)
        self._is_attached = True
        try:
            self._check_mode(place.attach(self._server, volume), mode)
            answer = self._answer()
        except processes.EngineError:
            # If this fails too, the next measurement has another server.
            with contextlib.suppress(processes.EngineError):
                self._detach(volume)
            raise
        self._detach(volume)
        raw.parent.mkdir(exist_ok=True)
        raw.write_text(answer.report)
        self._facts['kernel'] = answer.facts['kernel']
        self._facts['fio'] = answer.facts['fio']
        self._facts.setdefault('disk_cache', {})[mode] = answer.facts['cache']
        return answer.figures

    def _detach(self, volume: str) -> None:
        self._place.detach(self._server, volume)
        self._is_attached = False

    def _answer(self) -> job.Answer:
        """Wait for the results of the guest and return them."""
        settings = self._around.settings
        seconds = settings.warm_up + settings.runtime
        # A query of the console is work for the compute host.
        time.sleep(seconds)
        answer: job.Answer = api.wait(
            lambda: job.answer(
                self._place.console(self._server), self._number
            ),
            'the guest has written no results',
            _LATE,
        )
        return answer

    def _check_mode(self, volume: api.Record, mode: str) -> None:
        """Check the recorded cache mode of an attachment.

        :raises processes.EngineError: if it is not that of the combination
        """
        recorded = volume.get(definitions.ATTRIBUTE_CACHE_MODES)
        if not recorded:
            if plan.CACHE_MODE not in self._facts:
                self._around.say(_UNVERIFIED)
            self._facts[plan.CACHE_MODE] = 'not verified'
            return
        self._facts.setdefault(plan.CACHE_MODE, 'verified')
        for recorded_mode in recorded.values():
            if recorded_mode is None:
                raise processes.EngineError(
                    f'the compute host chose the cache mode instead of {mode}'
                )
            if recorded_mode != mode:
                raise processes.EngineError(
                    f'the volume was attached with {recorded_mode} instead '
                    f'of {mode}'
                )
