# SPDX-License-Identifier: Apache-2.0

"""Small images that fill a pool for a benchmark."""

from collections.abc import Callable
from collections.abc import Iterable
from concurrent import futures
import uuid

import rados
import rbd

from rbd_volume_options import features

_SIZE = 2**30
_LAYERED = features.to_mask({features.LAYERING, features.DEEP_FLATTEN})
_MAPPED = _LAYERED | features.to_mask(features.MAP_ON)
_THREADS = 4


class Images:
    """Empty images with the names of volumes.

    Every second image has an object map, and every tenth a snapshot.

    :param ioctx: a context of their pool
    :param number: the number of images
    """

    def __init__(self, ioctx: rados.Ioctx, number: int) -> None:
        self._ioctx = ioctx
        self._names: list[tuple[int, str]] = [
            (at, f'volume-{uuid.uuid4()}') for at in range(number)
        ]

    def create(self) -> None:
        """Create the images."""
        _all(self._create, self._names)

    def remove(self) -> None:
        """Remove the images that exist."""
        _all(self._remove, self._names)

    def idents(self) -> list[str]:
        """Return the ID of each volume."""
        return [name.removeprefix('volume-') for _, name in self._names]

    def _create(self, numbered: tuple[int, str]) -> None:
        at, name = numbered
        rbd.RBD().create(
            self._ioctx,
            name,
            _SIZE,
            old_format=False,
            features=_MAPPED if at % 2 else _LAYERED,
        )
        if at % 10 == 0:
            with rbd.Image(self._ioctx, name) as image:
                image.create_snap(name.replace('volume-', 'snapshot-'))

    def _remove(self, numbered: tuple[int, str]) -> None:
        remove(self._ioctx, numbered[1])


def remove(ioctx: rados.Ioctx, name: str) -> None:
    """Remove an image with its snapshots, if it exists."""
    try:
        with rbd.Image(ioctx, name) as image:
            for each in list(image.list_snaps()):
                if each['namespace'] == rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH:
                    image.remove_snap_by_id(each['id'])
                    continue
                if image.is_protected_snap(each['name']):
                    image.unprotect_snap(each['name'])
                image.remove_snap(each['name'])
        rbd.RBD().remove(ioctx, name)
    except rbd.ImageNotFound:
        return


def _all(
    action: Callable[[tuple[int, str]], None],
    names: Iterable[tuple[int, str]],
) -> None:
    with futures.ThreadPoolExecutor(_THREADS) as executor:
        list(executor.map(action, names))
