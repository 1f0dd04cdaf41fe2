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

#: Settings of librbd for images that are opened after they were set. Pieces
#: of megabytes gain nothing from its cache, and in a full pool a cache that is
#: full too waits for ever. An upload keeps each piece until it is written, so
#: that librbd needs no copy of it.
_FOR_UPLOADS = {
    'rbd_cache': 'false',
    'rbd_disable_zero_copy_writes': 'false',
}


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

    def prepare_upload(self) -> None:
        """Have images that are opened from now on suit an upload."""
        for name, value in _FOR_UPLOADS.items():
            self._client.conf_set(name, value)

    def open_ioctx(self, pool: str) -> Any:
        """Return the context of a pool; librbd takes the flag from it."""
        ioctx = self._client.open_ioctx(pool)
        ioctx.set_osdmap_full_try()
        return ioctx
