# SPDX-License-Identifier: Apache-2.0

"""The free space of a pool, and errors about insufficient space."""

from collections.abc import Mapping
import errno
import json
import logging
from typing import Any

from glance_store import exceptions

from glance_store_objmap import i18n

LOG = logging.getLogger(__name__)

#: Error numbers for a full pool and for a quota that was reached.
FULL = (errno.ENOSPC, errno.EDQUOT)

#: The command ``ceph df detail``, which the profile rbd allows.
_DF = json.dumps({'prefix': 'df', 'detail': 'detail', 'format': 'json'})


def is_refusal(error: BaseException) -> bool:
    """Return whether librbd or librados failed for lack of space."""
    return getattr(error, 'errno', None) in FULL


def storage_full(name: str) -> exceptions.StorageFull:
    """Return Glance's exception for an RBD image without space."""
    return exceptions.StorageFull(
        message=i18n._('No space left for image %s') % name
    )


def available(client: Any, pool_id: int) -> int | None:
    """Return the free space of a pool in bytes; None if unknown.

    The figures of the monitor are a few seconds old. They are zero only if
    the pool is full.
    """
    try:
        status, answer, text = client.mon_command(_DF, b'')
        if status:
            raise ValueError(text)
        report = json.loads(answer)
        (pool,) = (p['stats'] for p in report['pools'] if p['id'] == pool_id)
        # A manager that is starting does not know any OSDs yet.
        known = report['stats']['total_bytes'] > 0
        return _available(pool) if known else None
    except Exception as error:
        # The user may lack the capability. OSDs still reject data without
        # space.
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
    """The space that is available for an upload.

    :param client: a connected client, which is queried for each check
    :param pool_id: ID of the pool that holds the data
    """

    def __init__(self, client: Any, pool_id: int) -> None:
        self._client = client
        self._pool_id = pool_id

    def require(self, needed: int) -> None:
        """Check that the pool has enough space.

        The check passes if the free space is unknown.

        :param needed: number of bytes to write
        :raises glance_store.exceptions.StorageFull: if the pool has less
        """
        free = available(self._client, self._pool_id)
        if free is None or free >= needed:
            return
        # Only operators may see how much is free: the owner of an image can
        # announce any size.
        LOG.warning(
            'Pool %(pool)d has %(free)d bytes of free space, but an upload '
            'requires %(needed)d bytes',
            {'pool': self._pool_id, 'free': free, 'needed': needed},
        )
        raise exceptions.StorageFull(
            message=i18n._('Not enough free space for an image of this size')
        )
