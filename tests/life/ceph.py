# SPDX-License-Identifier: Apache-2.0

"""Access to the Ceph cluster by librbd, as an operator."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any

import rados
import rbd

from rbd_volume_options import features
from rbd_volume_options import trash_mark
from tests.life import content as contents
from tests.life import state as state_module

#: Pools of volumes, their data, Glance images and backups.
POOLS = ('volumes', 'volumes2', 'volumes-data', 'images', 'images2', 'backups')
# Objects that stay in a pool after its first image. Their omap entries are
# compared instead.
_DIRECTORIES = (
    *('rbd_directory', 'rbd_children', 'rbd_trash', 'rbd_info', 'rbd_task'),
    *('rbd_mirroring', 'rbd_header', 'rbd_namespace'),
)
_BITS = {bit: name for name, bit in features.FEATURES.items()}


class Connection:
    """A connection to the sandbox's cluster, for one thread."""

    def __init__(self, conf: str) -> None:
        self._rados = rados.Rados(conffile=conf, rados_id='admin')
        self._rados.connect()

    @contextlib.contextmanager
    def _pool(self, name: str) -> Iterator[Any]:
        ioctx = self._rados.open_ioctx(name)
        try:
            yield ioctx
        finally:
            ioctx.close()

    @contextlib.contextmanager
    def _image(
        self, pool: str, name: str, read_only: bool = True
    ) -> Iterator[Any]:
        with (
            self._pool(pool) as ioctx,
            rbd.Image(ioctx, name, read_only=read_only) as image,
        ):
            yield image

    def state(self, pool: str, name: str) -> state_module.State | None:
        """Return the state of an RBD image; None if it does not exist."""
        try:
            with self._image(pool, name) as image:
                return self._state(image)
        except rbd.ImageNotFound:
            return None

    def _state(self, image: Any) -> state_module.State:
        stat = image.stat()
        bits = image.features()
        data_pool = None
        if bits & features.FEATURES[features.DATA_POOL]:
            data_pool = self._rados.pool_reverse_lookup(image.data_pool_id())
        return state_module.State(
            stat['size'],
            stat['obj_size'],
            image.stripe_unit(),
            image.stripe_count(),
            frozenset(name for bit, name in _BITS.items() if bits & bit),
            data_pool,
            image.flags(),
        )

    def content(self, pool: str, name: str) -> contents.Digests:
        """Return the non-zero blocks of an RBD image."""
        extents: list[tuple[int, int]] = []

        def found(offset: int, length: int, exists: bool) -> None:
            if exists:
                extents.append((offset, length))

        digests: contents.Digests = {}
        with self._image(pool, name) as image:
            image.diff_iterate(0, image.size(), None, found)
            for offset, length in extents:
                begin = offset - offset % contents.BLOCK
                for at in range(begin, offset + length, contents.CHUNK):
                    size = min(contents.CHUNK, offset + length - at)
                    data = image.read(at, size)
                    digests.update(contents.digests_in(at, data))
        return digests

    def write(self, pool: str, name: str, blocks: contents.Content) -> None:
        """Write blocks to an RBD image."""
        with self._image(pool, name, read_only=False) as image:
            for offset, number in blocks.items():
                image.write(contents.block(number), offset)
            image.flush()

    def make(self, pool: str, name: str, size: int, **layout: int) -> None:
        """Create an RBD image outside Cinder; the size is in GiB."""
        with self._pool(pool) as ioctx:
            rbd.RBD().create(
                ioctx, name, size * contents.GIB, old_format=False, **layout
            )

    def remove(self, pool: str, name: str) -> None:
        """Remove an RBD image and its snapshots, if it exists."""
        with (
            self._pool(pool) as ioctx,
            # It is missing, or has clones; the caller tries again.
            contextlib.suppress(rbd.ImageNotFound, rbd.ImageBusy),
        ):
            with rbd.Image(ioctx, name) as image:
                for snapshot in list(image.list_snaps()):
                    if image.is_protected_snap(snapshot['name']):
                        image.unprotect_snap(snapshot['name'])
                    image.remove_snap(snapshot['name'])
            rbd.RBD().remove(ioctx, name)

    def purge_trash(self, pool: str) -> None:
        """Remove the images without clones from the trash."""
        with self._pool(pool) as ioctx:
            handle = rbd.RBD()
            for each in list(handle.trash_list(ioctx)):
                with contextlib.suppress(
                    rbd.ImageNotFound, rbd.ImageBusy, rbd.ImageHasSnapshots
                ):
                    handle.trash_remove(ioctx, each['id'], True)

    def names(self, pool: str) -> list[str]:
        """Return the names of a pool's images, including its trash."""
        with self._pool(pool) as ioctx:
            trash = [
                each['name']
                for each in rbd.RBD().trash_list(ioctx)
                if not _is_former(ioctx, each['id'])
            ]
            return sorted([*rbd.RBD().list(ioctx), *trash])

    def everything(self) -> set[str]:
        """Return all objects and omap entries in the pools."""
        items = set()
        for pool in POOLS:
            with self._pool(pool) as ioctx:
                for each in ioctx.list_objects():
                    if each.key not in _DIRECTORIES:
                        items.add(f'{pool}/{each.key}')
                for name in _DIRECTORIES:
                    items |= {
                        f'{pool}/{name}: {key}' for key in _omap(ioctx, name)
                    }
        return items


def _is_former(ioctx: Any, image_id: str) -> bool:
    """Return whether the trash keeps the former image of a volume."""
    mark, _ = trash_mark.read(rados, ioctx, image_id)
    return mark is not None and mark.kind == trash_mark.KEPT


def _omap(ioctx: Any, name: str) -> list[str]:
    """Return the omap keys of an object; none if it does not exist."""
    entries: list[str] = []
    with rados.ReadOpCtx() as op:
        after = ''
        while True:
            pairs, _ = ioctx.get_omap_keys(op, after, 500)
            try:
                ioctx.operate_read_op(op, name)
            except rados.ObjectNotFound:
                return entries
            keys = [key for key, _ in pairs]
            entries += [
                key if isinstance(key, str) else repr(key) for key in keys
            ]
            if len(keys) < 500:
                return entries
            after = keys[-1]
