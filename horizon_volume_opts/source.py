# SPDX-License-Identifier: Apache-2.0

"""The source of a new volume, if it determines the volume type."""

import dataclasses
import re
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from openstack_dashboard.api import cinder

from horizon_volume_opts import volume_attributes
from rbd_volume_options import options

VOLUME = 'volume'
SNAPSHOT = 'snapshot'

# Cinder has lists at these paths, below /volumes and /snapshots. Their
# responses have another form.
_LISTS = frozenset({'detail', 'summary'})
# The ID becomes a part of a path.
_IDENT = re.compile(r'[\w-]+')


@dataclasses.dataclass(frozen=True)
class Source:
    """A volume, or the volume of a snapshot.

    :ivar volume_type: the name of its type, which the new volume gets
    :ivar state: its RBD image; None if there is no record of it
    """

    volume_type: str | None
    state: options.Values | None


def find(request: Any, kind: str, ident: str) -> Source:
    """Look up a source.

    :param kind: ``volume`` or ``snapshot``
    :param ident: ID of the volume or snapshot
    :raises ClientException: if Cinder refuses the request
    """
    if kind == SNAPSHOT:
        _check(ident)
        ident = cinder.volume_snapshot_get(request, ident).volume_id
    origin = volume(request, ident)
    return Source(
        origin.volume_type, volume_attributes.of_volume(origin).state
    )


def volume(request: Any, ident: str) -> Any:
    """Return a volume for an ID in the address of a request.

    :raises ClientException: if Cinder refuses the request
    """
    _check(ident)
    return cinder.volume_get(request, ident)


def _check(ident: str) -> None:
    if ident in _LISTS or not _IDENT.fullmatch(ident):
        raise cinder_exceptions.NotFound(404)
