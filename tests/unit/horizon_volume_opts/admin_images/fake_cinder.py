# SPDX-License-Identifier: Apache-2.0

"""A fake Cinder client with paginated volumes and pools."""

import math
from typing import Any
import uuid

from cinderclient import exceptions

_PREFIX = 'os-rbd-volume-options:'


class Thing:
    """A resource of cinderclient, with its fields as attributes."""

    id: str
    name: str
    status: str

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


def volume(
    features: list[str] | None = None,
    pool: str = 'h@rbd#rbd',
    volume_type: str | None = 'rbd',
    status: str = 'available',
    layout: tuple[int, int, int] = (4 << 20, 4 << 20, 1),
    data_pool: str | None = None,
    loaded: bool = True,
    name: str = 'vol',
    image_id: str | None = None,
) -> Thing:
    """Return a volume; without features it has no record.

    :param image_id: the ID in the name of the image of a migrated volume
    :param loaded: whether the API extension, which adds the attributes, is
        loaded
    """
    made: dict[str, Any] = dict.fromkeys(
        ('object_size', 'stripe_unit', 'stripe_count', 'features', 'data_pool')
    )
    if features is not None:
        made['features'] = features
        made.update(
            zip(
                ('object_size', 'stripe_unit', 'stripe_count'),
                layout,
                strict=True,
            )
        )
        made['data_pool'] = data_pool
    return Thing(
        id=str(uuid.uuid4()),
        name=name,
        size=1,
        status=status,
        volume_type=volume_type,
        **{
            'os-vol-host-attr:host': pool,
            'os-vol-tenant-attr:tenant_id': 'p',
            'os-vol-mig-status-attr:name_id': image_id,
        },
        **({f'{_PREFIX}{k}': v for k, v in made.items()} if loaded else {}),
    )


class Volumes:
    """A fake for ``client.volumes``, newest first.

    :ivar requests: number of pages that were read, of all volumes
    """

    def __init__(self) -> None:
        self.all: list[Thing] = []
        self.requests = 0
        #: Number of requests after which each one fails.
        self.fails_after: float = math.inf

    def list(
        self,
        detailed: bool = True,
        search_opts: dict[str, Any] | None = None,
        marker: str | None = None,
        limit: int | None = None,
    ) -> list[Thing]:
        """Return a page; it is empty unless all_tenants is set."""
        if not (search_opts or {}).get('all_tenants') or not detailed:
            return []
        if self.requests >= self.fails_after:
            raise exceptions.ClientException(500, 'out of memory')
        self.requests += 1
        start = 0
        if marker:
            known = [each.id for each in self.all]
            if marker not in known:
                raise exceptions.NotFound(404)
            start = known.index(marker) + 1
        return self.all[start:][:limit]


class Pools:
    """A fake for ``client.pools``."""

    def __init__(self) -> None:
        self.protocols = {'h@rbd#rbd': 'ceph', 'h@lvm#lvm': 'iSCSI'}

    def list(self, detailed: bool = False) -> list[Thing]:
        """Return the pools, with capabilities if detailed."""
        if not detailed:
            return [Thing(name=name) for name in self.protocols]
        return [
            Thing(name=name, storage_protocol=protocol)
            for name, protocol in self.protocols.items()
        ]


class Client:
    """A fake for ``api.cinder.cinderclient(request)``."""

    def __init__(self) -> None:
        self.volumes = Volumes()
        self.pools = Pools()
