# SPDX-License-Identifier: Apache-2.0

"""The store that Glance loads: the stock RBD store with our options.

glance_store looks for ``StoreLocation`` in the module of ``Store``.
"""

from collections.abc import Iterator
import contextlib
import logging
from typing import Any

from glance_store import capabilities
from glance_store import driver
from glance_store import exceptions
from glance_store._drivers import rbd as stock

from glance_store_objmap import connection
from glance_store_objmap import download
from glance_store_objmap import hashing
from glance_store_objmap import i18n
from glance_store_objmap import opts
from glance_store_objmap import pieces
from glance_store_objmap import releases
from glance_store_objmap import settings
from glance_store_objmap import space
from glance_store_objmap import trash
from glance_store_objmap import upload
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import ownership
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

_BITS = capabilities.BitMasks

#: Name of the entry point. It must be one of the store's schemes, because
#: glance_store looks up a store by its type in ``enabled_backends``.
STORE_TYPE = 'rbd_objmap'


class StoreLocation(stock.StoreLocation):
    """``rbd://fsid/pool/image/snapshot``, as in the stock store."""


class Store(stock.Store):
    """The stock RBD store with a configured layout and image features.

    Images are compatible with the stock store: either store can read and
    delete images of the other, and Cinder and Nova can clone them. The object
    keeps no state of an upload, so one object serves all requests.
    """

    _CAPABILITIES = _BITS.RW_ACCESS | _BITS.READ_RANDOM
    OPTIONS = stock._RBD_OPTS + opts.STORE_OPTS

    settings: settings.StoreSettings

    def get_schemes(self) -> tuple[str, ...]:
        """Return the schemes of locations that the store handles."""
        return (*super().get_schemes(), STORE_TYPE)

    def configure_add(self) -> None:
        """Read the options and configure the store.

        :raises OptionError: for invalid options. Unlike glance_store's
            BadStoreConfiguration, this prevents startup of glance-api.
        """
        try:
            self.settings = settings.StoreSettings.read(
                releases.options_of(self)
            )
        except errors.OptionError as error:
            LOG.error('Store %s: %s', self.backend_group or 'rbd', error)
            raise
        super().configure_add()
        self._set_user()
        # Without this, glance_store creates and connects a new object for
        # each request, because the stock store keeps state of an upload.
        self.set_capabilities(_BITS.DRIVER_REUSABLE)

    @contextlib.contextmanager
    def get_connection(
        self, conffile: str, rados_id: str | None
    ) -> Iterator[Any]:
        """Connect to the cluster; nothing waits for space in a full pool."""
        with super().get_connection(conffile, rados_id) as client:
            yield connection.Connection(client)

    def _set_url_prefix(self) -> None:
        # configure_add connects as this user.
        self._set_user()
        super()._set_url_prefix()

    def _set_user(self) -> None:
        """Set the user; the stock store turns None into the text 'None'."""
        user = releases.options_of(self).rbd_store_user
        self.user = None if user is None else str(user)

    def _create_image(
        self,
        fsid: str | None,
        conn: Any,
        ioctx: Any,
        image_name: str,
        size: int,
        order: int,
        context: Any = None,
    ) -> StoreLocation:
        """Create an RBD image with the options of the store.

        Unset options get the values of the stock store.

        :raises glance_store.exceptions.Invalid: for more objects than an
            object map can have
        """
        mask = self._default_features(conn)
        how = self._plan(mask, size, order)
        arguments: dict[str, Any] = {}
        if how.has_layout:
            order = how.layout.order
        if keys.STRIPING in self.settings.options:
            arguments['stripe_unit'] = how.layout.stripe_unit
            arguments['stripe_count'] = how.layout.stripe_count
        if keys.FEATURES in how:
            mask = features.to_mask(how.image_features)
        releases.rbd_of(self).create(
            ioctx,
            image_name,
            size,
            order,
            old_format=False,
            features=mask,
            **arguments,
        )
        specs = {
            'fsid': fsid,
            'pool': self.pool,
            'image': image_name,
            'snapshot': stock.DEFAULT_SNAPNAME,
        }
        return StoreLocation(specs, self.conf)

    @staticmethod
    def _default_features(conn: Any) -> int:
        default = conn.conf_get('rbd_default_features')
        return int(default or 0) or int(stock.rbd.RBD_FEATURE_LAYERING)

    def _plan(self, mask: int, size: int, order: int) -> options.Values:
        base = plan.stock_image(1 << order, None, features.from_mask(mask))
        try:
            return self.settings.plan(base, size)
        except errors.OptionError as error:
            raise exceptions.Invalid(str(error)) from error

    @driver.back_compat_add
    @capabilities.check
    def add(
        self,
        image_id: Any,
        image_file: Any,
        image_size: int | None,
        hashing_algo: str,
        context: Any = None,
        verifier: Any = None,
    ) -> tuple[str, int, str, str, dict[str, str]]:
        """Store the data of a Glance image.

        :param image_size: size in bytes; 0 or None if unknown
        :param verifier: receives the data too, to verify a signature
        :returns: location, bytes written, md5, multihash, metadata
        :raises glance_store.exceptions.Duplicate: if the image exists
        :raises glance_store.exceptions.Invalid: if the data does not have
            the given size
        :raises glance_store.exceptions.StorageFull: for lack of space
        """
        size = image_size or 0
        sums = hashing.Checksums(hashing_algo)
        takers = sums.hashes if verifier is None else [*sums.hashes, verifier]
        with (
            self.get_connection(self.conf_file, self.user) as conn,
            conn.open_ioctx(self.pool) as ioctx,
        ):
            conn.prepare_upload(releases.rbd_of(self), ioctx)
            place = self._created(conn, ioctx, str(image_id), size)
            with self._removed_on_failure(place):
                if not trash.exists(ioctx):
                    # The first removal creates the trash, which needs space.
                    releases.rbd_of(self).remove(ioctx, place.image)
                    self._created(conn, ioctx, place.image, size)
                self._mark(ioctx, place.image)
                with stock.rbd.Image(ioctx, place.image) as image:
                    # ceph.conf may set another pool for the data.
                    room = space.Room(conn, image.data_pool_id())
                    written = self._fill(image, image_file, size, takers, room)
                    if place.snapshot:
                        image.create_snap(place.snapshot)
                        image.protect_snap(place.snapshot)
        metadata = {'store': self.backend_group} if self.backend_group else {}
        return (
            place.get_uri(),
            written,
            sums.md5.hexdigest(),
            sums.multihash.hexdigest(),
            metadata,
        )

    def _created(
        self, conn: Any, ioctx: Any, name: str, size: int
    ) -> StoreLocation:
        """Create an empty RBD image for data of an announced size.

        Clients announce any size, and the removal of an image visits each
        object below its size. Therefore the image grows with its data.

        :param size: announced size in bytes; 0 if unknown
        """
        fsid = conn.get_fsid() if hasattr(conn, 'get_fsid') else None
        order = layout.ImageLayout(self.settings.chunk_size).order
        LOG.debug('Creating image %s, announced: %d bytes', name, size)
        self._plan(self._default_features(conn), size, order)
        try:
            return self._create_image(fsid, conn, ioctx, name, 0, order)
        except stock.rbd.ImageExists as error:
            raise exceptions.Duplicate(
                message=i18n._('RBD image %s already exists') % name
            ) from error
        except stock.rbd.Error as error:
            if space.is_refusal(error):
                raise space.storage_full(name) from error
            raise

    def _mark(self, ioctx: Any, name: str) -> None:
        """Write the mark of this cloud to a new image, if it has an ID."""
        if not self.settings.cloud_id:
            return
        try:
            ownership.write_named(ioctx, name, self.settings.cloud_id)
        except Exception:
            # The image is complete without it, and never removed as a
            # leftover.
            LOG.exception('Could not mark image %s', name)

    def _fill(
        self,
        image: Any,
        source: Any,
        size: int,
        takers: list[hashing.Hash],
        room: space.Room,
    ) -> int:
        """Write and hash the data of a source; return the bytes written."""
        # With thin provisioning, the space that data needs is not known yet.
        room.require(1 if self.settings.thin else max(1, size))
        with (
            upload.begun(image, size, self.settings, room.require) as writing,
            hashing.Hashing(takers) as hashed,
        ):
            for piece in pieces.pieces(source, writing.next_size):
                # The write is first because it can be refused.
                hashed.update(writing.write(piece))
                # Keep no reference during the next read.
                del piece
            writing.finish()
        return writing.written

    @contextlib.contextmanager
    def _removed_on_failure(self, place: StoreLocation) -> Iterator[None]:
        """Remove the RBD image if an upload fails in any way.

        This includes a ``BaseException``: the stock store leaves the image
        behind if the green thread of an upload is killed.
        """
        try:
            yield
        except exceptions.Duplicate:
            # Our image was just removed. This one was created by others.
            raise
        except BaseException as error:
            LOG.error('Could not store image %s: %s', place.image, error)
            self._discard(place)
            if space.is_refusal(error):
                raise space.storage_full(place.image) from error
            raise

    def _discard(self, place: StoreLocation) -> None:
        pool = place.pool or self.pool
        try:
            self._delete_image(pool, place.image, place.snapshot)
        except exceptions.NotFound:
            LOG.debug('Image %s no longer exists', place.image)
        except Exception:
            # The caller must get the error of the upload, not this one.
            LOG.exception('Could not remove image %s', place.image)

    def _delete_image(
        self,
        target_pool: str,
        image_name: str,
        snapshot_name: str | None = None,
        context: Any = None,
    ) -> None:
        """Remove an RBD image and its snapshot.

        :raises glance_store.exceptions.NotFound: if the image does not exist
        :raises glance_store.exceptions.BackendException: if librbd did not
            find an image that still exists
        """
        try:
            super()._delete_image(target_pool, image_name, snapshot_name)
        except exceptions.NotFound:
            with (
                self.get_connection(self.conf_file, self.user) as conn,
                conn.open_ioctx(target_pool) as ioctx,
            ):
                librbd = releases.rbd_of(self)
                # Without a snapshot, nothing was opened and the removal that
                # failed was librbd's, which completes an earlier one.
                if snapshot_name and trash.complete_removal(
                    librbd, ioctx, image_name
                ):
                    return
                trash.check_gone(librbd, ioctx, image_name)
            raise

    @capabilities.check
    def get(
        self,
        location: Any,
        offset: int = 0,
        chunk_size: int | None = None,
        context: Any = None,
    ) -> tuple[download.ImageReader, int]:
        """Return an iterator over the data of an image, and its length.

        :param offset: offset of the data, in bytes
        :param chunk_size: length of the data in bytes, as Glance uses this
            parameter; None for the rest
        :raises glance_store.exceptions.NotFound: if the image does not exist
        """
        place = location.store_location
        left = max(0, self.get_size(location) - offset)
        reader = download.ImageReader(
            lambda: self._opened(place),
            place.image,
            offset,
            chunk_size,
            self.settings.read_piece,
            self.settings.read_depth,
        )
        return reader, left if chunk_size is None else min(chunk_size, left)

    @contextlib.contextmanager
    def _opened(self, place: StoreLocation) -> Iterator[Any]:
        with (
            self.get_connection(self.conf_file, self.user) as conn,
            conn.open_ioctx(place.pool or self.pool) as ioctx,
            stock.rbd.Image(
                ioctx, place.image, snapshot=place.snapshot, read_only=True
            ) as image,
        ):
            yield image
