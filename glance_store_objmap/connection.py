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

"""A connection to the cluster that doesn't wait for room in a full pool."""

from typing import Any

from rbd_volume_options import cache_modes

_CACHE = 'rbd_cache'
_NO_ZERO_COPY = 'rbd_disable_zero_copy_writes'


class Connection:
    """A connected client of librados, for the store.

    librados holds back each write to a full pool, and each deletion, until
    there is room. With the flag that :meth:`open_ioctx` sets, the OSDs answer
    at once: they carry deletions out, and refuse what needs space. So do OSDs
    above their failsafe ratio, which drop other writes.

    :param client: ``rados.Rados``; everything else is asked of it
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def prepare_upload(self, librbd: Any, ioctx: Any) -> None:
        """Have images that are opened from now on suit an upload.

        Pieces of megabytes gain nothing from librbd's cache, and in a full
        pool a cache that is full too waits for ever. An upload keeps each
        piece until it is written, so that librbd needs no copy. A cache does:
        a write would not end before the cache drops the piece.

        :param librbd: ``rbd.RBD``
        """
        self._client.conf_set(_CACHE, 'false')
        # A pool's configuration overrides that.
        cached = any(
            option['name'] == _CACHE
            and cache_modes.librbd_caches(option['value'])
            for option in librbd.config_list(ioctx)
        )
        self._client.conf_set(_NO_ZERO_COPY, 'true' if cached else 'false')

    def open_ioctx(self, pool: str) -> Any:
        """Return the context of a pool; librbd takes the flag from it."""
        ioctx = self._client.open_ioctx(pool)
        ioctx.set_osdmap_full_try()
        return ioctx
