# SPDX-License-Identifier: Apache-2.0

"""The records that Cinder, Glance and Nova have of images."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import functools
from typing import Any
from urllib import parse

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import ownership
from rbd_volume_tools.audit import names
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import databases

_PAGE = 1000
_NOT_FOUND = 404
_MICROVERSION = '3.27'
#: The first microversion in which volumes have the name of their cluster.
VOLUME_MICROVERSION = '3.61'
_BEING_MADE = frozenset(
    {'creating', 'downloading', 'restoring-backup', 'managing'}
)
_INCOMPLETE = frozenset({'queued', 'saving', 'uploading', 'importing'})

Body = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Volume:
    """A volume of Cinder.

    :ivar image_id: the id in the name of its image, another one than
        :ivar:`ident` after a migration
    :ivar pool: Cinder's pool as the scheduler names it, ``host@backend#pool``;
        with the name of the cluster in place of the host if there is one
    :ivar made: the ``os-rbd-volume-options`` attributes
    :ivar metadata: as its project has set it
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
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def image_name(self) -> str:
        """Name of its image."""
        return f'volume-{self.image_id}'

    @property
    def must_have_image(self) -> bool:
        """Whether the volume should have an image."""
        failed = self.status == 'error'
        return not failed and self.status not in _BEING_MADE


@dataclasses.dataclass(frozen=True)
class Records:
    """All records of a cloud that belong to images.

    :ivar volumes: by the id in the name of the image
    :ivar backends: Ceph pool of each Cinder pool whose RBD driver uses the
        Ceph cluster :ivar:`cluster`
    :ivar images: ids of Glance's images; None if Glance was not queried
    :ivar incomplete: status of each Glance image whose data is not complete,
        by its id
    :ivar servers: ids of Nova's servers; None if Nova was not queried
    :ivar types: extra specs of each volume type, by its name
    :ivar cloud_id: the id that the volume services write to images; empty if
        it is not configured
    :ivar backed_up: ids of the volumes that have backups
    :ivar cluster: fsid of the Ceph cluster
    :ivar located: pools of this cluster that have the data of Glance's
        images, by their ids, as far as Glance shows the locations. Anybody
        can choose the id of an image, so that an id alone shows nothing.
    :ivar marking: Cinder pools whose driver marks the images that it
        unmanages. The stock driver does not.
    :ivar available: ids of the available snapshots of each volume
    :ivar elsewhere: Cinder pools that are known not to use the Ceph cluster.
        Those of a service that is down are not known.
    """

    volumes: Mapping[str, Volume]
    snapshots: frozenset[str]
    backups: frozenset[str]
    backends: Mapping[str, str]
    images: frozenset[str] | None = None
    servers: frozenset[str] | None = None
    types: Mapping[str, Mapping[str, str]] = dataclasses.field(
        default_factory=dict
    )
    cloud_id: str = ''
    backed_up: frozenset[str] = frozenset()
    cluster: str = ''
    located: Mapping[str, frozenset[str]] = dataclasses.field(
        default_factory=dict
    )
    marking: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    incomplete: Mapping[str, str] = dataclasses.field(default_factory=dict)
    available: Mapping[str, list[str]] = dataclasses.field(
        default_factory=dict
    )

    def has(self, name: names.Name) -> bool:
        """Return whether the lists of the APIs have the owner in a name.

        A service that was not queried has any, and so has an owner that no
        service lists.
        """
        idents = getattr(self, name.owner.recorded or 'unlisted')
        return idents is None or name.ident in idents

    def has_in(
        self, pool: str, name: names.Name, stored: databases.Databases
    ) -> bool:
        """Return whether the owner of an image is there, in a Ceph pool.

        Nova does not tell the pools of its servers. Glance's API shows the
        locations if it is configured so; the database has them in any case.
        """
        if name.owner is names.Owner.VOLUME:
            volume = self.volumes.get(name.ident)
            return bool(volume and self.backends.get(volume.pool) == pool)
        recorded = getattr(self, name.owner.recorded or '', ()) or ()
        if name.ident not in recorded:
            return False
        if name.owner is not names.Owner.GLANCE_IMAGE:
            return True
        pools = self.located.get(name.ident)
        row = None if pools else stored.image(name.ident)
        if row and not row.is_deleted:
            pools = pools_of_image(row.locations, self.cluster, name.ident)
        return pool in (pools or ())

    def is_foreign(self, mark: str) -> bool:
        """Return whether a mark names another cloud."""
        return mark not in ('', self.cloud_id, ownership.RELEASED)

    #: What no service lists.
    unlisted = None


def of_cloud(cloud: Any, cluster: str) -> Records:
    """Return the records of a cloud, read as an administrator.

    :param cloud: a connection of openstacksdk
    :param cluster: fsid of the Ceph cluster
    :raises openstack.exceptions.SDKException: if a service refuses a request
    :raises ValueError: if the back ends have different IDs of the cloud
    """
    cinder = cloud.block_storage
    backups = {
        body['id']: body.get('volume_id') or ''
        for body in _pages(cinder, 'backups')
    }
    reports = {
        pool['name']: pool['capabilities']
        for pool in _get(cinder, '/scheduler-stats/get_pools?detail=True')[
            'pools'
        ]
    }
    by_image = {each.image_id: each for each in volumes(cinder)}
    snapshots = set()
    available: dict[str, list[str]] = {}
    for body in _pages(cinder, 'snapshots'):
        snapshots.add(body['id'])
        if body['status'] == 'available':
            available.setdefault(body['volume_id'], []).append(body['id'])
    images, incomplete = {}, {}
    for image in glance_images(cloud.image):
        images[image.id] = pools_of_image(_urls(image), cluster, image.id)
        if image.status in _INCOMPLETE:
            incomplete[image.id] = image.status
    backends, elsewhere = {}, set()
    for name, report in reports.items():
        place = _place(report)
        # Another cluster may have a pool of the same name.
        if place and place[0] == cluster:
            backends[name] = place[1]
        elif place or report.get('storage_protocol') not in (None, 'ceph'):
            elsewhere.add(name)
    return Records(
        by_image,
        frozenset(snapshots),
        frozenset(backups),
        backends,
        frozenset(images),
        frozenset(server.id for server in _servers(cloud.compute)),
        {
            body['name']: body.get('extra_specs') or {}
            for body in _pages(cinder, 'volume_types', answers.TYPES)
        },
        _cloud_id(reports.values()),
        frozenset(backups.values()),
        cluster,
        {ident: pools for ident, pools in images.items() if pools},
        frozenset(
            name
            for name, report in reports.items()
            if report.get(backend_settings.CAPABILITY)
        ),
        frozenset(elsewhere),
        incomplete,
        available,
    )


def utc(text: str) -> datetime.datetime:
    """Return a time of an API, which may lack the zone UTC."""
    time = datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))
    return time.replace(tzinfo=datetime.timezone.utc)


def volumes(cinder: Any) -> Iterator[Volume]:
    """Yield the volumes that the user can see: an administrator sees all.

    :param cinder: Cinder's API
    :raises openstack.exceptions.SDKException: if it refuses the request
    """
    for body in _pages(cinder, 'volumes'):
        yield of_body(body)


def glance_images(glance: Any) -> Iterator[Any]:
    """Yield all images.

    Without these filters, Glance lists neither hidden images nor community
    images of other projects, not even to an administrator.
    """
    for hidden in (False, True):
        yield from glance.images(
            limit=_PAGE, visibility='all', is_hidden=hidden
        )


def _urls(image: Any) -> Iterator[str]:
    """Yield the URLs of an image's data that Glance shows."""
    if image.direct_url:
        yield image.direct_url
    for location in image.locations or ():
        yield location['url']


def pools_of_image(
    urls: Iterable[str], cluster: str, ident: str
) -> frozenset[str]:
    """Return the pools of a cluster that have the data of a Glance image.

    :param urls: ``rbd://<fsid>/<pool>/<image>/<snapshot>``
    :param cluster: fsid of the cluster
    """
    pools = set()
    for url in urls:
        words = [parse.unquote(word) for word in url.split('/')]
        if words[:3] == ['rbd:', '', cluster] and words[4:5] == [ident]:
            pools.add(words[3])
    return frozenset(pools)


def _servers(nova: Any) -> Iterator[Any]:
    """Yield all servers.

    Nova does not list servers that were deleted and can still be restored
    (``reclaim_instance_interval``), unless it is asked for them. Their disks
    exist.
    """
    yield from nova.servers(all_projects=True)
    yield from nova.servers(
        all_projects=True, is_soft_deleted=True, status='SOFT_DELETED'
    )


@dataclasses.dataclass(frozen=True)
class CloudNow:
    """What the cloud has at the moment of a call, asked by ID.

    :ivar cloud: a connection of openstacksdk. Each method raises SDKException
        if a service refuses.
    """

    cloud: Any

    def has_record(self, owner: names.Owner, ident: str) -> bool:
        """Return whether the cloud has a resource with an ID."""
        services = {
            'images': self.cloud.image,
            'servers': self.cloud.compute,
        }
        path = owner.recorded
        service = services.get(path, self.cloud.block_storage)
        # A server of a cell that does not respond is there, and is shown with
        # the status UNKNOWN, only since this microversion.
        how = {'microversion': '2.69'} if path == 'servers' else {}
        return _body(service.get(f'/{path}/{ident}', **how)) is not None

    def volume(self, ident: str) -> Volume | None:
        """Return a volume; None if there is none."""
        cinder = self.cloud.block_storage
        body = _body(
            cinder.get(f'/volumes/{ident}', microversion=VOLUME_MICROVERSION)
        )
        return of_body(body['volume']) if body else None

    def server_deleted(self, ident: str) -> datetime.datetime | None:
        """Return when a server was deleted; None if Nova does not know it."""
        path = f'/servers/detail?all_tenants=1&deleted=true&uuid={ident}'
        body = _body(self.cloud.compute.get(path)) or {}
        for server in body.get('servers', ()):
            if server['id'] == ident and server['status'] == 'DELETED':
                return utc(server['updated'])
        return None


def _body(response: Any) -> Body | None:
    """Return the body of a response; None if there is no such resource."""
    if response.status_code == _NOT_FOUND:
        return None
    response.raise_for_status()
    body: Body = response.json()
    return body


def _pages(cinder: Any, kind: str, path: str = '') -> Iterator[Body]:
    """Yield the resources of all projects.

    Cinder takes ``all_tenants=0`` of an administrator for a filter that no
    resource matches, and ignores ``all_tenants=1`` of other users.

    :param path: of the list, if it is not that of the kind
    """
    return answers.pages(
        functools.partial(_get, cinder),
        path or f'/{kind}/detail?all_tenants=1',
        kind,
    )


def _get(cinder: Any, path: str) -> Body:
    is_volumes = path.startswith('/volumes/')
    response = cinder.get(
        path,
        microversion=VOLUME_MICROVERSION if is_volumes else _MICROVERSION,
    )
    response.raise_for_status()
    body: Body = response.json()
    return body


def of_body(body: Body) -> Volume:
    """Return a volume as the API shows it."""
    prefix = f'{definitions.ALIAS}:'
    ident = body['id']
    migration = body.get('migration_status')
    return Volume(
        ident,
        body.get('os-vol-mig-status-attr:name_id') or ident,
        body.get('os-vol-tenant-attr:tenant_id') or '',
        body.get('volume_type') or '',
        body.get('cluster_name') or body.get('os-vol-host-attr:host') or '',
        body['status'],
        bool(body.get('multiattach')),
        migration not in (None, 'success', 'error', 'none'),
        {
            key: value
            for key, value in body.items()
            if key.startswith(prefix) and value is not None
        },
        body.get('metadata') or {},
    )


def _cloud_id(reports: Iterable[Body]) -> str:
    """Return the id of the cloud that the back ends report."""
    idents = {each.get(ownership.CLOUD_ID) for each in reports} - {None}
    if len(idents) > 1:
        raise ValueError(
            f'The back ends of Cinder have different values of rbd_cloud_id: '
            f'{", ".join(sorted(map(str, idents)))}. Set the same in each '
            'cinder.conf.'
        )
    return str(idents.pop()) if idents else ''


def clusters(pools: Iterable[Body]) -> frozenset[str]:
    """Return the fsids of the Ceph clusters that the back ends report."""
    places = (_place(pool['capabilities']) for pool in pools)
    return frozenset(place[0] for place in places if place)


def _place(report: Body) -> tuple[str, str] | None:
    """Return the cluster and the Ceph pool of a back end, if it has one."""
    # The stock driver reports ceph:<conf>:<fsid>:<user>:<pool>.
    location = backend_settings.location_in(report)
    if not location.startswith('ceph:'):
        return None
    _, fsid, _, rbd_pool = location.rsplit(':', 3)
    return fsid, rbd_pool
