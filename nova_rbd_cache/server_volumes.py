# SPDX-License-Identifier: Apache-2.0

"""The volumes of a server, and what they require of a compute host.

A request to nova-scheduler contains neither: the volumes are in Nova's
databases, and their modes are in Cinder.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

from nova import context as nova_context
from nova import objects
from nova.volume import cinder

from rbd_volume_options import cache_modes
from rbd_volume_options import wire

# Seconds that scheduling waits for Cinder, which answers from its database.
_TIMEOUT = 10


@dataclasses.dataclass(frozen=True)
class Server:
    """A server that is to be scheduled.

    :ivar host: the host of the server; None if it has none
    :ivar volumes: the IDs of its volumes
    """

    host: str | None
    volumes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What a volume requires of a compute host.

    :ivar modes: the cache modes of which the host must allow one
    :ivar reason: why a host that allows none of them is refused
    """

    volume: str
    modes: frozenset[cache_modes.CacheMode]
    reason: str


def find(context: Any, server: str) -> Server:
    """Return a server and its volumes, from Nova's databases.

    Volumes that Nova creates while it builds the server do not exist yet.

    :raises NovaException: if the server is not found
    """
    context = context.elevated()
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        request = objects.BuildRequest.get_by_instance_uuid(context, server)
        return Server(None, _volumes(request.block_device_mappings))
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        host = objects.Instance.get_by_uuid(cell, server).host
        devices = objects.BlockDeviceMappingList.get_by_instance_uuid(
            cell, server
        )
        return Server(host, _volumes(devices))


def _volumes(devices: Any) -> tuple[str, ...]:
    return tuple(
        each.volume_id for each in devices if each.is_volume and each.volume_id
    )


def requirements(
    context: Any, server: str, volumes: tuple[str, ...]
) -> Iterator[Requirement]:
    """Return the requirements of the volumes that have one, from Cinder.

    :raises Exception: any error of the client, of which there are many
    """
    if not volumes:
        return
    client = cinder.cinderclient(context).client
    for volume in volumes:
        _response, body = client.get(
            f'/volumes/{volume}{wire.ROUTE}'
            f'?{wire.NEXT_ATTACHMENT_SERVER}={server}',
            timeout=_TIMEOUT,
        )
        requirement = body[wire.NEXT_ATTACHMENT]
        words = requirement[wire.REQUIRED_CACHE_MODES]
        if words is not None:
            modes = frozenset(_known(words))
            yield Requirement(
                volume, modes, str(requirement[wire.NEXT_ATTACHMENT_REASON])
            )


def _known(words: list[str]) -> Iterator[cache_modes.CacheMode]:
    for word in words:
        # A newer Cinder may have further modes.
        with contextlib.suppress(ValueError):
            yield cache_modes.CacheMode(word)
