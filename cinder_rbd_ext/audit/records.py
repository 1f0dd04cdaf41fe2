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

"""What Cinder, Glance and Nova know about images."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import wire

_PAGE = 1000
_MICROVERSION = '3.27'
_BEING_MADE = frozenset(
    {'creating', 'downloading', 'restoring-backup', 'managing'}
)

Body = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Volume:
    """A volume of Cinder.

    :ivar image_id: the id in the name of its image, another one than
        :ivar:`ident` after a migration
    :ivar pool: Cinder's pool, ``host@backend#pool``
    :ivar made: the ``os-rbd-volume-options`` attributes, without the prefix
    """

    ident: str
    image_id: str
    project: str
    volume_type: str
    pool: str
    status: str
    multiattach: bool = False
    migrating: bool = False
    made: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def image_name(self) -> str:
        """Name of its image."""
        return f'volume-{self.image_id}'

    @property
    def must_have_image(self) -> bool:
        """Whether it should have an image."""
        failed = self.status == 'error'
        return not failed and self.status not in _BEING_MADE


@dataclasses.dataclass(frozen=True)
class Records:
    """All records of a cloud that belong to images.

    :ivar volumes: by the id in the name of the image
    :ivar backends: Ceph pool of each Cinder pool with an RBD driver
    :ivar images: ids of Glance's images; None if Glance was not asked
    :ivar servers: ids of Nova's servers; None if Nova was not asked
    """

    volumes: Mapping[str, Volume]
    snapshots: frozenset[str]
    backups: frozenset[str]
    backends: Mapping[str, str]
    images: frozenset[str] | None = None
    servers: frozenset[str] | None = None


def of_cloud(cloud: Any) -> Records:
    """Return the records of a cloud, read as an administrator.

    :param cloud: a connection of openstacksdk
    :raises openstack.exceptions.SDKException: if a service refuses
    """
    cinder = cloud.block_storage
    volumes = [_volume(body) for body in _pages(cinder, 'volumes')]
    return Records(
        {each.image_id: each for each in volumes},
        frozenset(body['id'] for body in _pages(cinder, 'snapshots')),
        frozenset(body['id'] for body in _pages(cinder, 'backups')),
        dict(_backends(cinder)),
        frozenset(image.id for image in cloud.image.images(limit=_PAGE)),
        frozenset(
            server.id for server in cloud.compute.servers(all_projects=True)
        ),
    )


def _pages(cinder: Any, kind: str) -> Iterator[Body]:
    """Yield the resources of all projects."""
    marker = ''
    while True:
        after = f'&marker={marker}' if marker else ''
        bodies = _get(
            cinder, f'/{kind}/detail?all_tenants=1&limit={_PAGE}{after}'
        )[kind]
        yield from bodies
        if len(bodies) < _PAGE:
            return
        marker = bodies[-1]['id']


def _get(cinder: Any, path: str) -> Body:
    response = cinder.get(path, microversion=_MICROVERSION)
    response.raise_for_status()
    found: Body = response.json()
    return found


def _volume(body: Body) -> Volume:
    prefix = f'{wire.ALIAS}:'
    ident = body['id']
    migration = body.get('migration_status')
    return Volume(
        ident,
        body.get('os-vol-mig-status-attr:name_id') or ident,
        body.get('os-vol-tenant-attr:tenant_id') or '',
        body.get('volume_type') or '',
        body.get('os-vol-host-attr:host') or '',
        body['status'],
        bool(body.get('multiattach')),
        migration not in (None, 'success', 'error', 'none'),
        {
            key.removeprefix(prefix): value
            for key, value in body.items()
            if key.startswith(prefix) and value is not None
        },
    )


def _backends(cinder: Any) -> Iterator[tuple[str, str]]:
    """Yield Cinder's pools on Ceph and the Ceph pools of their images."""
    pools = _get(cinder, '/scheduler-stats/get_pools?detail=True')['pools']
    for pool in pools:
        report = pool['capabilities']
        # The stock driver reports ceph:<conf>:<fsid>:<user>:<pool>.
        location = str(report.get('location_info') or '')
        if location.startswith('ceph:'):
            yield pool['name'], location.rpartition(':')[2]
