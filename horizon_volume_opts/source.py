# SPDX-License-Identifier: Apache-2.0

"""The source of a new volume, if it determines the volume type."""

import re
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from openstack_dashboard.api import cinder

VOLUME = 'volume'
SNAPSHOT = 'snapshot'

# Cinder has lists at these paths, below /volumes and /snapshots. Their
# responses have another form.
_LISTS = frozenset({'detail', 'summary'})
# The ID becomes a part of a path.
_IDENT = re.compile(r'[\w-]+')


def find(request: Any, kind: str, ident: str) -> Any:
    """Return a volume, or the volume of a snapshot.

    :param kind: ``volume`` or ``snapshot``
    :raises ClientException: if Cinder refuses the request
    """
    if kind == SNAPSHOT:
        _check(ident)
        ident = cinder.volume_snapshot_get(request, ident).volume_id
    return volume(request, ident)


def volume(request: Any, ident: str) -> Any:
    """Return a volume for an ID in the address of a request.

    :raises ClientException: if Cinder refuses the request
    """
    _check(ident)
    return cinder.volume_get(request, ident)


def _check(ident: str) -> None:
    if ident in _LISTS or not _IDENT.fullmatch(ident):
        raise cinder_exceptions.NotFound(404)
