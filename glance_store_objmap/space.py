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

"""The space in a pool: how much there is, and errors for want of it."""

from collections.abc import Mapping
import errno
import json
import logging
from typing import Any

from glance_store import exceptions
from glance_store import i18n

LOG = logging.getLogger(__name__)

#: A full pool and a reached quota.
FULL = (errno.ENOSPC, errno.EDQUOT)

#: As ``ceph df detail``; a client with the profile rbd may ask.
_DF = json.dumps({'prefix': 'df', 'detail': 'detail', 'format': 'json'})


def is_refusal(error: BaseException) -> bool:
    """Return whether an error of librbd or librados is for want of space."""
    return getattr(error, 'errno', None) in FULL


def available(client: Any, pool_id: int) -> int | None:
    """Return how many bytes fit into a pool; None where that isn't known.

    The monitor's figures are some seconds old, and zero only where the pool
    takes nothing any more.
    """
    try:
        status, answer, text = client.mon_command(_DF, b'')
        if status:
            raise ValueError(text)
        report = json.loads(answer)
        (pool,) = (p['stats'] for p in report['pools'] if p['id'] == pool_id)
        # While a manager starts it knows of no OSD.
        known = report['stats']['total_bytes'] > 0
        return _available(pool) if known else None
    except Exception as error:
        # A user may lack the right to ask. OSDs still refuse what doesn't fit.
        LOG.debug('Could not get the free space: %s', error)
        return None


def _available(pool: Mapping[str, int]) -> int | None:
    limits = []
    if not pool.get('compress_under_bytes') or not pool['max_avail']:
        limits.append(pool['max_avail'])
    if pool.get('quota_bytes'):
        limits.append(pool['quota_bytes'] - pool['stored'])
    if pool.get('quota_objects', 0) and (
        pool['objects'] >= pool['quota_objects']
    ):
        limits.append(0)
    return max(0, min(limits)) if limits else None


class Room:
    """The space that an upload may still take.

    :param client: connected, asked again each time
    :param pool_id: the pool that holds the data
    """

    def __init__(self, client: Any, pool_id: int) -> None:
        self._client = client
        self._pool_id = pool_id

    def require(self, needed: int) -> None:
        """Check that there is room.

        :param needed: bytes that are going to be written
        :raises glance_store.exceptions.StorageFull: where they don't fit
        """
        found = available(self._client, self._pool_id)
        if found is not None and found < needed:
            raise exceptions.StorageFull(
                message=i18n._(
                    'The pool has room for %(found)d bytes, '
                    '%(needed)d are needed'
                )
                % {'found': found, 'needed': needed}
            )
