# SPDX-License-Identifier: Apache-2.0

"""Creates and removes the images of benchmarks, and no others."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import time
from typing import Any
import uuid

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes

PREFIX = 'cinder-rbd-ext-bench-'
#: Name of the file with the names of a folder's images.
JOURNAL = 'created'
#: Seconds until the watch of a killed client has expired:
#: ``osd_client_watch_timeout`` and a margin.
WATCH = 35.0
#: Bytes of an image that stays empty.
_EMPTY = 2**20


class Images:
    """The images in a pool.

    :param librbd: the module ``rbd``
    :ivar ioctx: context of the pool
    :param defaults: librbd's default features, as a mask
    :param limit: maximum bytes of data at one time
    :param journal: file with the names of all images that runs with this
        folder have created. A name is written to it before the image exists,
        so that a killed run leaves no image without a name here. Other images
        are never removed.
    :param say: shows a line to the operator
    """

    def __init__(
        self,
        librbd: Any,
        ioctx: Any,
        defaults: int,
        limit: int,
        journal: pathlib.Path,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._rbd = librbd
        self.ioctx = ioctx
        self._defaults = defaults
        self._limit = limit
        self._journal = journal
        self._say = say
        self._data = 0
        # By name: whether the operator knows that it was not removed.
        self._present: dict[str, bool] = {}

    @property
    def created_names(self) -> frozenset[str]:
        """The names of all images that runs with this folder created."""
        try:
            names = self._journal.read_text().split()
        except FileNotFoundError:
            return frozenset()
        # A person may have kept a list in a file of this name.
        return frozenset(name for name in names if name.startswith(PREFIX))

    def _write_name(self, name: str) -> None:
        """Write the name of an image that will be created."""
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        with self._journal.open('a') as file:
            # A full disk may have cut off the last name.
            file.write(f'\n{name}\n')
            file.flush()
            os.fsync(file.fileno())

    @property
    def present(self) -> list[str]:
        """The names of the images of this run that are not removed yet."""
        return list(self._present)

    @contextlib.contextmanager
    def created(
        self, size: int, data: int, wanted: plan.Keys
    ) -> Iterator[str]:
        """Create an image and yield its name; remove it afterwards.

        The data of an image that could not be removed still counts.

        :param size: bytes
        :param data: bytes that will be written to it
        :param wanted: keys of its layout and features
        :raises OptionError: if the data exceeds the limit
        :raises processes.EngineError: if librbd refuses the image
        """
        name = f'{PREFIX}{uuid.uuid4().hex[:12]}'
        arguments_of_librbd = arguments(wanted, self._defaults)
        self.check(data)
        self._data += data
        self._write_name(name)
        self._present[name] = False
        try:
            self._create(name, size, arguments_of_librbd)
            yield name
        finally:
            if self._discarded(name):
                self._data -= data

    def _create(
        self, name: str, size: int, arguments_of_librbd: dict[str, Any]
    ) -> None:
        try:
            self._rbd.RBD().create(
                self.ioctx,
                name,
                size,
                old_format=False,
                **arguments_of_librbd,
            )
        except self._rbd.Error as error:
            raise processes.EngineError(f'image {name}: {error}') from error

    def prepare(self) -> int:
        """Create and remove an empty image; return the ID of its data pool.

        librbd removes images through the trash directory of the pool and
        creates it for the first removal. In a pool that has reached its quota
        this is not possible, and no image could be removed.

        :raises processes.EngineError: if librbd refuses the image
        """
        with (
            self.created(_EMPTY, 0, {}) as name,
            self._rbd.Image(self.ioctx, name, read_only=True) as image,
        ):
            return int(image.data_pool_id())

    @contextlib.contextmanager
    def counted(self, data: int) -> Iterator[None]:
        """Count data in the context towards the limit.

        :raises OptionError: if the data exceeds the limit
        """
        self.check(data)
        self._data += data
        try:
            yield
        finally:
            self._data -= data

    def check(self, data: int) -> None:
        """Check that more data is within the limit.

        :raises OptionError: if it is not
        """
        if self._data + data > self._limit:
            raise errors.OptionError(
                '--limit',
                self._limit,
                f'{self._data + data} bytes of data are needed',
                f'at least {self._data + data}, or a smaller --image-size',
            )

    def remove(self, name: str, wait: float = WATCH) -> bool:
        """Remove an image; return whether it is gone.

        :param wait: seconds to wait for a client that has it open
        """
        if name not in self.created_names:
            raise ValueError(f'{name} was not created by this benchmark')
        limit = time.monotonic() + wait
        while True:
            try:
                return self._remove(name)
            except self._rbd.ImageBusy:
                if time.monotonic() >= limit:
                    return False
                time.sleep(0.5)

    def _remove(self, name: str) -> bool:
        gone = True
        try:
            self._rbd.RBD().remove(self.ioctx, name)
        except self._rbd.ImageNotFound:
            # librbd also raises this in a full pool without trash directory.
            gone = name not in self._rbd.RBD().list(self.ioctx)
        for ident, trashed in self._trash():
            if trashed == name:
                with contextlib.suppress(self._rbd.ImageNotFound):
                    self._rbd.RBD().trash_remove(self.ioctx, ident, force=True)
        return gone

    def _trash(self) -> Iterator[tuple[str, str]]:
        """Yield the IDs and names of own images in the trash of the pool.

        librbd only moves an image there if the pool overrides
        ``rbd_move_to_trash_on_remove``.
        """
        own = self.created_names
        try:
            for each in self._rbd.RBD().trash_list(self.ioctx):
                if each['name'] in own:
                    yield each['id'], each['name']
        except IndexError:
            # The binding of Ceph 16 stops at an image that is migrated.
            self._say(
                'Could not read the whole trash of the pool, because an image '
                'of the pool is being migrated.'
            )

    def discard_all(self) -> None:
        """Remove what is left of this run, such as after an error."""
        for name in self.present:
            self._discarded(name)

    def _discarded(self, name: str) -> bool:
        """Remove an image of this run; return whether it is gone."""
        try:
            return self._removed_or_said(name)
        except KeyboardInterrupt:
            # Signals raise this once, and it must not leave the image.
            self._removed_or_said(name)
            raise

    def _removed_or_said(self, name: str) -> bool:
        why = 'another client has it open'
        try:
            gone = self.remove(name)
        except self._rbd.Error as error:
            gone, why = False, str(error)
        if gone:
            self._present.pop(name, None)
        elif not self._present.get(name):
            self._present[name] = True
            self._say(
                f'{not_removed(self.ioctx.get_pool_name(), name)} ({why})'
            )
        return gone

    def left(self) -> list[str]:
        """Return the names of images that earlier runs left behind.

        librbd also lists an image whose removal was interrupted.
        """
        names = self.created_names & set(self._rbd.RBD().list(self.ioctx))
        return sorted(names | {name for _, name in self._trash()})

    def _others(self) -> list[str]:
        """Return the names of images that other benchmarks created."""
        own = self.created_names
        return [
            name
            for name in self._rbd.RBD().list(self.ioctx)
            if name.startswith(PREFIX) and name not in own
        ]

    def sweep(self, wait: float = WATCH) -> None:
        """Remove the images that a killed run left behind.

        An image that another run has open cannot be removed.
        """
        for name in self.left():
            self._say(f'Removing {name}, which an earlier run left behind.')
            if not self.remove(name, wait):
                self._say(
                    f'{name} is in use by another run and is not removed.'
                )
        if others := self._others():
            self._say(
                f'Not removed, because runs with another folder created them: '
                f'{", ".join(others)}. Repeat these runs with their folders, '
                'or use rbd rm.'
            )

    def held(self, name: str) -> Any:
        """Return a context that keeps an image open.

        Other runs cannot remove it meanwhile.
        """
        return self._rbd.Image(self.ioctx, name)


@contextlib.contextmanager
def opened(
    cluster: Any,
    librbd: Any,
    pool: str,
    limit: int,
    folder: pathlib.Path,
    say: Callable[[str], None],
) -> Iterator[Images]:
    """Yield the images of a run in a pool, without those of earlier runs.

    What is left of the run is removed at the end.

    :param cluster: a connection of librados
    :param folder: of the results
    """
    ioctx = cluster.open_ioctx(pool)
    # librbd adopts this. Removals otherwise wait for space in a full pool.
    ioctx.set_osdmap_full_try()
    defaults = default_features(cluster.conf_get('rbd_default_features'))
    with contextlib.ExitStack() as stack:
        stack.callback(ioctx.close)
        own = Images(librbd, ioctx, defaults, limit, folder / JOURNAL, say)
        own.sweep()
        stack.callback(own.discard_all)
        yield own


def not_removed(pool: str, name: str) -> str:
    """Return the message about an image that remains."""
    return (
        f'Not removed: {pool}/{name}; the next run with the same folder '
        'removes it'
    )


def arguments(wanted: plan.Keys, defaults: int) -> dict[str, Any]:
    """Return the arguments of ``rbd.RBD.create`` for keys.

    :param defaults: librbd's default features, as a mask
    """
    parsed = plan.parsed_keys(wanted)
    result: dict[str, Any] = {}
    striping = parsed.get(keys.STRIPING)
    if parsed.layout_origin:
        image = plan.layout_of(wanted)
        layout.check_unit(image)
        result['order'] = image.order
    if striping:
        result['stripe_unit'] = striping.unit
        result['stripe_count'] = striping.count
    if parsed.features_origin:
        chosen = parsed.features_over(
            features.from_mask(defaults) & features.CHOOSABLE
        )
        result['features'] = features.to_mask(chosen)
    return result


def differences(image: Any, wanted: plan.Keys) -> list[str]:
    """Return how an open image differs from keys, as texts.

    What the keys do not set is not compared.
    """
    parsed = plan.parsed_keys(wanted)
    enabled = features.from_mask(image.features())
    has = {
        keys.OBJECT_SIZE: 1 << image.stat()['order'],
        keys.STRIPE_UNIT: image.stripe_unit(),
        keys.STRIPE_COUNT: image.stripe_count(),
        keys.OBJECT_MAP: features.OBJECT_MAP in enabled,
    }
    expected = parsed.by_option()
    pairs = [(key, expected[key], has[key]) for key in has if key in expected]
    if keys.FEATURES in parsed:
        # librbd adds some, such as fast-diff to object-map.
        made = features.with_implied(parsed.image_features, False, False)
        named = ', '.join(sorted(made & features.CHOOSABLE))
        chosen = ', '.join(sorted(enabled & features.CHOOSABLE))
        pairs.append((keys.FEATURES, named, chosen))
    return [
        f'{key} is {has} instead of {expected}'
        for key, expected, has in pairs
        if has != expected
    ]


def default_features(text: str) -> int:
    """Return the mask of ``rbd_default_features``, a number or names."""
    if text.isdigit():
        return int(text)
    return features.to_mask(
        name.strip() for name in text.split(',') if name.strip()
    )
