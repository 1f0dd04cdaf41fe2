# SPDX-License-Identifier: Apache-2.0

"""A connection to the cluster that does not wait for space in a full pool."""

from typing import Any

from rbd_volume_options.families import cache_modes

_CACHE = 'rbd_cache'
_NO_ZERO_COPY = 'rbd_disable_zero_copy_writes'


class Connection:
    """A connected librados client for the store.

    By default, librados blocks writes to a full pool, and deletions from it,
    until the pool has space. With the flag that :meth:`open_ioctx` sets, the
    OSDs respond immediately: they perform deletions and reject operations
    that need space. OSDs above their failsafe ratio do the same; without the
    flag they drop writes.

    :param client: ``rados.Rados``; handles all other attributes
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def prepare_upload(self, librbd: Any, ioctx: Any) -> None:
        """Configure librbd for uploads to images that are opened later.

        The cache of librbd does not speed up writes of several megabytes, and
        a full cache blocks forever if the pool is full. An upload keeps each
        piece until it is written, so librbd need not copy it. With a cache,
        librbd must copy: otherwise a write would not complete until the cache
        drops the piece.

        :param librbd: ``rbd.RBD``
        :param ioctx: context of the pool
        """
        self._client.conf_set(_CACHE, 'false')
        # The configuration of a pool overrides the client's.
        cached = any(
            option['name'] == _CACHE
            and cache_modes.librbd_caches(option['value'])
            for option in librbd.config_list(ioctx)
        )
        self._client.conf_set(_NO_ZERO_COPY, 'true' if cached else 'false')

    def open_ioctx(self, pool: str) -> Any:
        """Return the context of a pool; librbd inherits its flag."""
        ioctx = self._client.open_ioctx(pool)
        ioctx.set_osdmap_full_try()
        return ioctx
