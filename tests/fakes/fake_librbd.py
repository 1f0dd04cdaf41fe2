# SPDX-License-Identifier: Apache-2.0

"""The module ``rbd`` on the in-memory cluster.

Keeps state and fails as librbd does: the same tests run on both
(:mod:`tests.functional.librbd_behaviour`). On a closed connection librbd ends
the process; the fake records this in :attr:`Cluster.ended`.
"""

from collections.abc import Iterator
import datetime
import functools
from typing import Any

from oslo_utils import timeutils

from tests.fakes import fake_handle
from tests.fakes import fake_images
from tests.fakes import fake_rados


class Librbd:
    """The module ``rbd``, for images of one cluster."""

    RBD_FEATURE_LAYERING = fake_images.LAYERING
    RBD_FEATURE_EXCLUSIVE_LOCK = fake_images.LOCK
    RBD_FEATURE_OBJECT_MAP = fake_images.OBJECT_MAP
    RBD_FEATURE_FAST_DIFF = fake_images.FAST_DIFF
    RBD_FEATURE_JOURNALING = fake_images.JOURNALING
    RBD_FEATURE_MIGRATING = fake_images.MIGRATING
    RBD_MIRROR_IMAGE_DISABLED = 2

    Error = fake_images.Error
    OSError = fake_images.OSError
    ImageNotFound = fake_images.ImageNotFound
    ImageExists = fake_images.ImageExists
    ImageBusy = fake_images.ImageBusy
    Timeout = fake_images.Timeout
    ImageHasSnapshots = fake_images.ImageHasSnapshots
    InvalidArgument = fake_images.InvalidArgument
    ArgumentOutOfRange = fake_images.ArgumentOutOfRange
    FunctionNotSupported = fake_images.FunctionNotSupported
    ReadOnlyImage = fake_images.ReadOnlyImage
    PermissionError = fake_images.PermissionError

    def __init__(self, cluster: fake_rados.Cluster) -> None:
        self.cluster = cluster
        self.Image = functools.partial(fake_handle.Image, cluster)

    def RBD(self) -> 'RBD':
        """Return the object that creates, clones and removes images."""
        return RBD(self.cluster)


class RBD:
    """``rbd.RBD``."""

    def __init__(self, cluster: fake_rados.Cluster) -> None:
        self._cluster = cluster

    def version(self) -> tuple[int, int, int]:
        """Return librbd's version."""
        return 1, 16, 0

    def list(self, ioctx: fake_rados.Ioctx) -> list[str]:
        """Return the images of a pool, and those that are being removed."""
        return sorted([*ioctx.images('RBD.list'), *ioctx.pool.removing])

    def pool_stats_get(self, ioctx: fake_rados.Ioctx) -> dict[str, int]:
        """Return the number and total size of the images of a pool."""
        images = ioctx.images('RBD.pool_stats_get').values()
        sizes = [image.size for image in images]
        return {
            'image_count': len(sizes),
            'image_provisioned_bytes': sum(sizes),
        }

    def config_list(self, ioctx: fake_rados.Ioctx) -> Iterator[dict[str, Any]]:
        """Return the options for the pool's images."""
        ioctx.images('RBD.config_list')
        options = {
            'rbd_default_stripe_count': '0',
            'rbd_default_stripe_unit': '0',
            'rbd_cache': 'true',
            **ioctx.client.settings,
            **ioctx.pool.config,
        }
        for name, value in options.items():
            yield {'name': name, 'value': value, 'source': 0}

    def pool_metadata_list(
        self, ioctx: fake_rados.Ioctx
    ) -> Iterator[tuple[str, str]]:
        """Return the metadata of a pool, which has its options."""
        ioctx.images('RBD.pool_metadata_list')
        for name, value in ioctx.pool.config.items():
            yield f'conf_{name}', value

    def create(
        self,
        ioctx: fake_rados.Ioctx,
        name: str,
        size: int,
        order: int | None = None,
        old_format: bool = True,
        features: int | None = None,
        stripe_unit: int = 0,
        stripe_count: int = 0,
        data_pool: str | None = None,
    ) -> None:
        """Create an image."""
        images = ioctx.images('RBD.create')
        self._check_new(images, name)
        defaults = ioctx.pool.config
        images[name] = fake_images.make(
            name,
            size,
            {
                'order': order,
                'stripe_unit': stripe_unit,
                'stripe_count': stripe_count,
                'features': self._features(features),
            },
            (
                0,
                int(defaults.get('rbd_default_stripe_unit', 0)),
                int(defaults.get('rbd_default_stripe_count', 0)),
            ),
            fake_images.data_pool_number(ioctx, data_pool),
        )

    def clone(
        self,
        p_ioctx: fake_rados.Ioctx,
        p_name: str,
        p_snapname: str,
        c_ioctx: fake_rados.Ioctx,
        c_name: str,
        features: int | None = None,
        order: int | None = None,
        stripe_unit: int = 0,
        stripe_count: int = 0,
        data_pool: str | None = None,
    ) -> None:
        """Clone a snapshot."""
        parents, images = p_ioctx.images('RBD.clone'), c_ioctx.images('clone')
        if p_name not in parents:
            raise fake_images.ImageNotFound(p_name)
        parent = parents[p_name]
        snapshot = parent.snapshot(p_snapname)
        self._check_new(images, c_name)
        mask = self._features(features)
        if not parent.mask & mask & fake_images.LAYERING:
            raise fake_images.FunctionNotSupported('cloning needs layering')
        clone = fake_images.make(
            c_name,
            snapshot.size,
            {
                'order': order,
                'stripe_unit': stripe_unit,
                'stripe_count': stripe_count,
                'features': mask,
            },
            (parent.order, parent.unit, parent.count),
            fake_images.data_pool_number(c_ioctx, data_pool),
        )
        clone.metadata = dict(parent.metadata)
        clone.parent = (p_ioctx.pool.name, parent, snapshot)
        snapshot.children.append(clone)
        images[c_name] = clone

    def remove(self, ioctx: fake_rados.Ioctx, name: str) -> None:
        """Remove an image, or move it to the trash if an option says so.

        A removal that was interrupted is completed. A fault ``RBD.remove
        half-way`` interrupts it.
        """
        images = ioctx.images('RBD.remove')
        if ioctx.pool.removing.pop(name, None):
            return
        if name not in images:
            raise fake_images.ImageNotFound('error removing image')
        stored = images[name]
        pool = ioctx.pool
        if pool.is_full and 'rbd_trash' not in pool.objects:
            raise fake_images.ImageNotFound('error removing image')
        self._check_unused(stored)
        option = 'rbd_move_to_trash_on_remove'
        if {**ioctx.client.settings, **pool.config}.get(option) == 'true':
            pool.trash[stored.ident] = images.pop(name)
        else:
            stored.detach()
            pool.removing[name] = images.pop(name)
            self._cluster.reach('RBD.remove half-way')
            del pool.removing[name]
        # librbd moves an image to the trash first; the object remains.
        pool.objects['rbd_trash'] = b''

    def trash_list(self, ioctx: fake_rados.Ioctx) -> Iterator[dict[str, Any]]:
        """Return the images in the trash."""
        ioctx.images('RBD.trash_list')
        for ident, stored in list(ioctx.pool.trash.items()):
            yield {
                'id': ident,
                'name': stored.name,
                'source': 'USER',
                'deletion_time': stored.moved_at,
                'deferment_end_time': stored.kept_until,
            }

    def trash_get(
        self, ioctx: fake_rados.Ioctx, image_id: str
    ) -> dict[str, Any]:
        """Return an image in the trash."""
        for entry in self.trash_list(ioctx):
            if entry['id'] == image_id:
                return entry
        raise fake_images.ImageNotFound('error retrieving image from trash')

    def trash_move(
        self, ioctx: fake_rados.Ioctx, name: str, delay: int = 0
    ) -> None:
        """Move an image to the trash, also one that a client has open."""
        images = ioctx.images('RBD.trash_move')
        pool = ioctx.pool
        if name not in images or (
            pool.is_full and 'rbd_trash' not in pool.objects
        ):
            raise fake_images.ImageNotFound('error moving image to trash')
        stored = images.pop(name)
        stored.moved_at = timeutils.utcnow()
        stored.kept_until = stored.moved_at + datetime.timedelta(seconds=delay)
        pool.trash[stored.ident] = stored
        pool.objects['rbd_trash'] = b''

    def trash_remove(
        self,
        ioctx: fake_rados.Ioctx,
        image_id: str,
        force: bool = False,
        on_progress: Any = None,
    ) -> None:
        """Remove an image from the trash."""
        ioctx.images('RBD.trash_remove')
        if image_id not in ioctx.pool.trash:
            raise fake_images.ImageNotFound('error deleting image from trash')
        if image_id not in ioctx.pool.lost_headers:
            self._check_unused(ioctx.pool.trash[image_id])
        ioctx.pool.trash.pop(image_id).detach()

    def _check_unused(self, stored: fake_images.StoredImage) -> None:
        if stored.snapshots:
            raise fake_images.ImageHasSnapshots('error removing image')
        if any(
            handle.stored is stored and not handle.read_only
            for handle in self._cluster.open_images
        ):
            raise fake_images.ImageBusy('error removing image')

    def rename(
        self, ioctx: fake_rados.Ioctx, source: str, target: str
    ) -> None:
        """Rename an image."""
        images = ioctx.images('RBD.rename')
        if source not in images:
            raise fake_images.ImageNotFound('error renaming image')
        self._check_new(images, target)
        images[target] = images.pop(source)
        images[target].name = target

    def _features(self, features: int | None) -> int:
        if features is None:
            return int(self._cluster.config['rbd_default_features'])
        return features

    def _check_new(self, images: dict[str, Any], name: str) -> None:
        if name in images:
            raise fake_images.ImageExists(name)
