# SPDX-License-Identifier: Apache-2.0

"""``rbd.Image`` of the fake cluster."""

from collections.abc import Iterator
import datetime
from typing import Any

from tests.fakes import fake_images
from tests.fakes import fake_rados


class Image:
    """``rbd.Image``: a handle of an image or of one of its snapshots."""

    def __init__(
        self,
        cluster: fake_rados.Cluster,
        ioctx: fake_rados.Ioctx,
        name: str | None = None,
        snapshot: str | None = None,
        read_only: bool = False,
        image_id: str | None = None,
    ) -> None:
        pool = ioctx.pool
        images = dict[str | None, Any](ioctx.images('Image'))
        if image_id is not None:
            name = image_id
            images = {x.ident: x for x in images.values()} | pool.trash
        if name not in images or name in pool.lost_headers:
            raise fake_images.ImageNotFound(f'error opening image {name}')
        self.stored: fake_images.StoredImage = images[name]
        self.read_only = read_only
        self._cluster = cluster
        self._ioctx = ioctx
        self._at = self.stored.snapshot(snapshot) if snapshot else None
        self._closed = False
        cluster.open_images.append(self)

    def __enter__(self) -> 'Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the image; do nothing if it is closed."""
        if not self._closed:
            self._require_connection('Image.close')
            self._cluster.reach('Image.close')
            self._closed = True
            self._cluster.open_images.remove(self)

    def _require_connection(self, operation: str) -> None:
        # A closed ioctx is valid here, because librbd keeps its own.
        if self._ioctx.client.state != 'connected':
            self._cluster.end_process(f'{operation} without a connection')

    def _read(self, operation: str) -> fake_images.StoredImage:
        if self._closed:
            raise fake_images.InvalidArgument('image is closed')
        self._require_connection(operation)
        self._cluster.reach(operation)
        return self.stored

    def _write(self, operation: str) -> fake_images.StoredImage:
        stored = self._read(operation)
        if self.read_only or (self._at and 'rebuild' not in operation):
            raise fake_images.ReadOnlyImage(operation)
        return stored

    # Information

    def stat(self) -> dict[str, Any]:
        """Return size, order and object size."""
        stored = self._read('Image.stat')
        size = self.size()
        return {
            'size': size,
            'num_objs': -(-size >> stored.order),
            'order': stored.order,
            'obj_size': 1 << stored.order,
        }

    def size(self) -> int:
        """Return the size in bytes of the image or the open snapshot."""
        stored = self._read('Image.size')
        return self._at.size if self._at else stored.size

    def features(self) -> int:
        """Return the feature mask."""
        return self._read('Image.features').features

    def flags(self) -> int:
        """Return 3 if the object map is invalid, otherwise 0."""
        stored = self._read('Image.flags')
        return self._at.flags if self._at else stored.flags

    def stripe_unit(self) -> int:
        """Return the stripe unit in bytes."""
        return self._read('Image.stripe_unit').unit

    def stripe_count(self) -> int:
        """Return the stripe count."""
        return self._read('Image.stripe_count').count

    def id(self) -> str:
        """Return the id, which a copy does not share."""
        return self._read('id').ident

    def modify_timestamp(self) -> datetime.datetime:
        """Return the time of the last write."""
        seconds = self._read('Image.modify_timestamp').modified
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)

    def group(self) -> dict[str, Any]:
        """Return the group; pool -1 for none."""
        group = self._read('group').group
        return {'pool': 1 if group else -1, 'name': group or ''}

    def mirror_image_get_info(self) -> dict[str, Any]:
        """Return whether the image is mirrored."""
        mirrored = self._read('mirror_image_get_info').mask
        on = mirrored & fake_images.JOURNALING
        return {'global_id': '', 'state': 1 if on else 2, 'primary': True}

    def data_pool_id(self) -> int:
        """Return the ID of the data pool."""
        number = self._read('Image.data_pool_id').data_pool
        return self._ioctx.pool.number if number is None else number

    def get_name(self) -> str:
        """Return the image's name."""
        return self._read('Image.get_name').name

    def parent_info(self) -> tuple[str, str, str]:
        """Return pool, image and snapshot of the parent."""
        parent = self._read('Image.parent_info').parent
        if parent is None:
            raise fake_images.ImageNotFound('error getting parent info')
        pool, image, snapshot = parent
        return pool, image.name, snapshot.name

    def is_exclusive_lock_owner(self) -> bool:
        """Return whether this handle has the exclusive lock."""
        self._read('is_exclusive_lock_owner')
        return False

    def list_lockers(self) -> list[Any]:
        """Return the clients that have a lock."""
        self._read('list_lockers')
        return []

    def get_parent_image_spec(self) -> dict[str, Any]:
        """Return the parent, which the head and all snapshots have."""
        names = ('pool_name', 'image_name', 'snap_name')
        return dict(zip(names, self.parent_info(), strict=True))

    def overlap(self) -> int:
        """Return how much of the image the parent can have."""
        return self.size() if self._read('Image.overlap').parent else 0

    def list_children(self) -> list[tuple[str, str]]:
        """Return the clones of the image's snapshots."""
        stored = self._read('Image.list_children')
        return [
            (pool.name, image.name)
            for pool in self._cluster.pools.values()
            for image in pool.images.values()
            if image.parent and image.parent[1] is stored
        ]

    def list_children2(self) -> Iterator[dict[str, Any]]:
        """Return the clones of the open snapshot, or of all snapshots."""
        stored = self._read('Image.list_children2')
        for pool in self._cluster.pools.values():
            for image in pool.images.values():
                parent = image.parent
                if parent is None or parent[1] is not stored:
                    continue
                if self._at in (None, parent[2]):
                    yield {
                        'pool': pool.name,
                        'image': image.name,
                        'id': image.ident,
                        'trash': False,
                    }

    # Metadata

    def watchers_list(self) -> Iterator[dict[str, Any]]:
        """Yield the watchers; a handle that is read-only has none."""
        stored = self._read('Image.watchers_list')
        for handle in self._cluster.open_images:
            if handle.stored is stored and not handle.read_only:
                yield {'addr': '192.0.2.1:0/1', 'id': 1, 'cookie': id(handle)}

    def config_list(self) -> Iterator[dict[str, Any]]:
        """Return the image's configuration and the source of each value."""
        stored = self._read('Image.config_list')
        value, source = 'true', 0
        if 'rbd_cache' in self._ioctx.pool.config:
            value, source = self._ioctx.pool.config['rbd_cache'], 1
        if 'conf_rbd_cache' in stored.metadata:
            value, source = stored.metadata['conf_rbd_cache'], 2
        yield {'name': 'rbd_cache_size', 'value': '33554432', 'source': 0}
        yield {'name': 'rbd_cache', 'value': value, 'source': source}

    def metadata_list(self) -> Iterator[tuple[str, str]]:
        """Return all keys and values."""
        return iter(list(self._read('Image.metadata_list').metadata.items()))

    def metadata_set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        self._write('Image.metadata_set').metadata[key] = value

    def metadata_remove(self, key: str) -> None:
        """Remove a key."""
        del self._write('Image.metadata_remove').metadata[key]

    def config_set(self, key: str, value: str) -> None:
        """Set an option for the image."""
        self._write('Image.config_set').metadata[f'conf_{key}'] = value

    def config_remove(self, key: str) -> None:
        """Remove an option, which the image must have."""
        metadata = self._write('Image.config_remove').metadata
        if metadata.pop(f'conf_{key}', None) is None:
            raise fake_images.ImageNotFound(key)

    # Snapshots

    def list_snaps(self) -> Iterator[dict[str, Any]]:
        """Return all snapshots, including those in the trash."""
        for snapshot in list(self._read('Image.list_snaps').snapshots):
            entry = {
                'id': snapshot.number,
                'name': snapshot.name,
                'size': snapshot.size,
                'namespace': 0,
            }
            if snapshot.original_name:
                entry['namespace'] = 2
                entry['trash'] = {'original_name': snapshot.original_name}
            yield entry

    def create_snap(self, name: str) -> None:
        """Create a snapshot."""
        stored = self._write('Image.create_snap')
        if any(s.name == name for s in stored.snapshots):
            raise fake_images.ImageExists('error creating snapshot')
        stored.snapshots.append(
            fake_images.StoredSnapshot(
                next(self._cluster.numbers), name, stored.size, stored.flags
            )
        )

    def protect_snap(self, name: str) -> None:
        """Protect a snapshot."""
        stored = self._write('Image.protect_snap')
        if not stored.mask & fake_images.LAYERING:
            raise fake_images.FunctionNotSupported('error protecting')
        snapshot = stored.snapshot(name)
        if snapshot.protected:
            raise fake_images.ImageBusy('error protecting snapshot')
        snapshot.protected = True

    def is_protected_snap(self, name: str) -> bool:
        """Return whether a snapshot is protected."""
        return self._read('Image.is_protected_snap').snapshot(name).protected

    def unprotect_snap(self, name: str) -> None:
        """Unprotect a snapshot, even if it has clones."""
        snapshot = self._write('Image.unprotect_snap').snapshot(name)
        if not snapshot.protected:
            raise fake_images.InvalidArgument('error unprotecting snapshot')
        snapshot.protected = False

    def remove_snap(self, name: str) -> None:
        """Remove a snapshot; move it to the trash if it has clones."""
        stored = self._write('Image.remove_snap')
        snapshot = stored.snapshot(name)
        if snapshot.protected:
            raise fake_images.ImageBusy('error removing snapshot')
        if snapshot.children:
            snapshot.original_name = name
            snapshot.name = f'trashed-{snapshot.number}'
        else:
            stored.snapshots.remove(snapshot)

    def set_snap(self, name: str | None) -> None:
        """Open a snapshot, or the image itself."""
        stored = self._read('Image.set_snap')
        self._at = stored.snapshot(name) if name else None

    # Changes

    def write(self, data: bytes, offset: int) -> int:
        """Write data at the start of the image; return its length."""
        stored = self._write('Image.write')
        if offset or len(data) > stored.size:
            raise fake_images.InvalidArgument('error writing to image')
        stored.start = data
        stored.modified += 1
        return len(data)

    def diff_iterate(
        self, offset: int, length: int, since: None, callback: Any, **_: bool
    ) -> None:
        """Report the object that has data, if one of them has."""
        stored = self._read('Image.diff_iterate')
        if stored.start and not offset:
            callback(0, min(length, 1 << stored.order), True)

    def resize(self, size: int, allow_shrink: bool = True) -> None:
        """Resize the image."""
        stored = self._write('Image.resize')
        if size < stored.size and not allow_shrink:
            raise fake_images.InvalidArgument('error resizing image')
        fake_images.check_map_size(stored, size)
        stored.size = size

    def update_features(self, mask: int, enabled: bool) -> None:
        """Enable or disable features."""
        fake_images.update_features(
            self._write('Image.update_features'), mask, enabled
        )

    def rebuild_object_map(self) -> None:
        """Rebuild the object map of the image or the open snapshot."""
        stored = self._write('Image.rebuild_object_map')
        if not stored.mask & fake_images.OBJECT_MAP:
            raise fake_images.InvalidArgument('error rebuilding object map')
        (self._at or stored).flags = 0

    def mirror_image_enable(self) -> None:
        """Enable mirroring of the image."""
        self._write('Image.mirror_image_enable').metadata['mirrored'] = 'true'

    def flatten(self) -> None:
        """Copy the parent's data and detach the clone."""
        stored = self._write('Image.flatten')
        if stored.parent is None:
            raise fake_images.InvalidArgument('error flattening')
        stored.detach()

    def copy(
        self,
        dest_ioctx: fake_rados.Ioctx,
        dest_name: str,
        features: int | None = None,
        order: int | None = None,
        stripe_unit: int = 0,
        stripe_count: int = 0,
        data_pool: str | None = None,
    ) -> None:
        """Copy the image; keep a partial copy if this fails."""
        stored = self._read('Image.copy')
        images = dest_ioctx.images('Image.copy to')
        if dest_name in images:
            raise fake_images.ImageExists('error copying image')
        copied = fake_images.make(
            dest_name,
            self.size(),
            {
                'order': order,
                'stripe_unit': stripe_unit,
                'stripe_count': stripe_count,
                'features': stored.mask if features is None else features,
            },
            (stored.order, stored.unit, stored.count),
            fake_images.data_pool_number(dest_ioctx, data_pool),
        )
        images[dest_name] = copied
        self._cluster.reach('Image.copy half-way')
        copied.metadata = dict(stored.metadata)
