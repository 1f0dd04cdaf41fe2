# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A Cinder that lists volumes in pages and knows its pools."""

from typing import Any
import uuid

_PREFIX = 'os-rbd-volume-options:'


class Thing:
    """What cinderclient makes of an answer: its fields as attributes."""

    id: str

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
) -> Thing:
    """Return a volume; one without features has no record.

    :param loaded: whether the API extension is, without which there are no
        such attributes
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
        status=status,
        volume_type=volume_type,
        **{'os-vol-host-attr:host': pool},
        **({f'{_PREFIX}{k}': v for k, v in made.items()} if loaded else {}),
    )


class Volumes:
    """Volumes, newest first."""

    def __init__(self) -> None:
        self.all: list[Thing] = []
        self.requests = 0

    def list(
        self,
        detailed: bool = True,
        search_opts: dict[str, Any] | None = None,
        marker: str | None = None,
        limit: int | None = None,
    ) -> list[Thing]:
        """Return a page; those of all projects only if asked for."""
        if not (search_opts or {}).get('all_tenants') or not detailed:
            return []
        self.requests += 1
        start = 0
        if marker:
            (start,) = (
                n + 1 for n, each in enumerate(self.all) if each.id == marker
            )
        return self.all[start:][:limit]


class Pools:
    """What back ends report."""

    def __init__(self) -> None:
        self.protocols = {'h@rbd#rbd': 'ceph', 'h@lvm#lvm': 'iSCSI'}

    def list(self, detailed: bool = False) -> list[Thing]:
        """Return the pools, with what they can only if asked for."""
        if not detailed:
            return [Thing(name=name) for name in self.protocols]
        return [
            Thing(name=name, storage_protocol=protocol)
            for name, protocol in self.protocols.items()
        ]


class Client:
    """What ``api.cinder.cinderclient(request)`` returns."""

    def __init__(self) -> None:
        self.volumes = Volumes()
        self.pools = Pools()
