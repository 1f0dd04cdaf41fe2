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


"""Creates and removes the images of benchmarks, and no others."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import time
from typing import Any
import uuid

from cinder_rbd_ext.bench import plan
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

PREFIX = 'cinder-rbd-ext-bench-'
#: Seconds until the watch of a killed client has expired:
#: ``osd_client_watch_timeout`` and a margin.
WATCH = 35.0


class Images:
    """The images in a pool.

    :param librbd: the module ``rbd``
    :param ioctx: context of the pool
    :param defaults: librbd's default features, as a mask
    :param limit: maximum bytes of data at one time
    """

    def __init__(
        self, librbd: Any, ioctx: Any, defaults: int, limit: int
    ) -> None:
        self._rbd = librbd
        self._ioctx = ioctx
        self._defaults = defaults
        self._limit = limit
        self._data = 0

    @contextlib.contextmanager
    def created(
        self, size: int, data: int, wanted: plan.Keys
    ) -> Iterator[str]:
        """Create an image and yield its name; remove it afterwards.

        :param size: bytes
        :param data: bytes that will be written to it
        :param wanted: keys of its layout and features
        :raises OptionError: if the data exceeds the limit
        """
        name = f'{PREFIX}{uuid.uuid4().hex[:12]}'
        with self.counted(data):
            try:
                self._rbd.RBD().create(
                    self._ioctx,
                    name,
                    size,
                    old_format=False,
                    **arguments(wanted, self._defaults),
                )
                yield name
            finally:
                self.remove(name)

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
        if not name.startswith(PREFIX):
            raise ValueError(f'{name} was not created by a benchmark')
        limit = time.monotonic() + wait
        while True:
            try:
                self._rbd.RBD().remove(self._ioctx, name)
            except self._rbd.ImageNotFound:
                return True
            except self._rbd.ImageBusy:
                if time.monotonic() >= limit:
                    return False
                time.sleep(0.5)
            else:
                return True

    def left(self) -> list[str]:
        """Return the names of images that earlier runs left behind."""
        return sorted(
            name
            for name in self._rbd.RBD().list(self._ioctx)
            if name.startswith(PREFIX)
        )

    def sweep(self, say: Callable[[str], None], wait: float = WATCH) -> None:
        """Remove the images that a killed run left behind.

        An image that another run has open cannot be removed.
        """
        for name in self.left():
            say(f'Removing {name}, which an earlier run left behind.')
            if not self.remove(name, wait):
                say(f'{name} is in use by another run and is not removed.')

    def held(self, name: str) -> Any:
        """Return a context that keeps an image open.

        Other runs cannot remove it meanwhile.
        """
        return self._rbd.Image(self._ioctx, name)


def arguments(wanted: plan.Keys, defaults: int) -> dict[str, Any]:
    """Return the arguments of ``rbd.RBD.create`` for keys.

    :param defaults: librbd's default features, as a mask
    """
    found = options.parse(wanted, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)
    given: dict[str, Any] = {}
    if found.object_size or found.striping:
        image = layout.ImageLayout(
            found.object_size or layout.DEFAULT_OBJECT_SIZE, found.striping
        )
        layout.check_unit(image)
        given['order'] = image.order
    if found.striping:
        given['stripe_unit'] = found.striping.unit
        given['stripe_count'] = found.striping.count
    chosen = found.image_features
    if chosen is None and found.object_map is not None:
        chosen = features.with_object_map(
            features.from_mask(defaults) & features.CHOOSABLE,
            found.object_map,
        )
    if chosen is not None:
        given['features'] = features.to_mask(chosen)
    return given


def default_features(text: str) -> int:
    """Return the mask of ``rbd_default_features``, a number or names."""
    if text.isdigit():
        return int(text)
    return features.to_mask(
        name.strip() for name in text.split(',') if name.strip()
    )
