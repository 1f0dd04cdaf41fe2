# SPDX-License-Identifier: Apache-2.0

"""A tenant on one driver: ours or the stock one, with the same operations."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import random
import time
from typing import Any

from keystoneauth1 import exceptions

from tests.cloud import clustered
from tests.life import ceph_process
from tests.life import cloud
from tests.life import content as contents
from tests.life import kinds
from tests.trust import servers

Record = dict[str, Any]

#: Seconds after which a request without an answer counts as hung.
ANSWER = 60
#: The kinds of resources, in the order in which an owner can delete them.
KINDS = ('backups', 'snapshots', 'volumes', 'images')
_LOST = cloud.Answer(0, {}, 'the connection was lost')
_HUNG = cloud.Answer(-1, {}, f'no answer within {ANSWER} s')
_PATIENCE = 240.0
_MODES = ('none', 'writethrough', 'writeback', 'directsync')


class BrokenError(Exception):
    """The preparation of a round failed, although there was no fault."""


@dataclasses.dataclass
class Volume:
    """A volume whose content is known.

    :ivar server: the server that uses it, or is to use it
    :ivar mode: the cache mode that its disk has to have
    :ivar written: what the guest wrote, and where it reads its commands
    """

    ident: str
    content: contents.Content
    snapshot: str = ''
    server: str = ''
    mode: str = 'none'
    written: contents.Digests = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Driver:
    """A back end of the sandbox, and the types of its volumes.

    :ivar types: the extra specs of the usual type, and of the types that
        volumes are retyped to: in place, and with a copy to another pool where
        the sandbox has two back ends of the driver
    """

    name: str
    pool: str
    types: dict[str, dict[str, str]]


_STRIPED = {
    'rbd:object_size': '1M',
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
}
DRIVERS = (
    Driver(
        'ours',
        'volumes',
        {
            'usual': {'volume_backend_name': 'rbd'},
            'in-place': {'volume_backend_name': 'rbd', **_STRIPED},
            'copied': {'volume_backend_name': 'rbd2'},
        },
    ),
    Driver(
        'stock',
        'volumes2',
        {
            'usual': {'volume_backend_name': 'stock'},
            'in-place': {'volume_backend_name': 'stock'},
        },
    ),
)


#: Our driver in two services of one cluster.
CLUSTERED = dataclasses.replace(
    DRIVERS[0],
    types={
        which: {**specs, 'volume_backend_name': clustered.BACKEND}
        for which, specs in DRIVERS[0].types.items()
        if which != 'copied'
    },
)


class Side:
    """A tenant of one driver.

    :ivar base: a volume with a snapshot, which is never changed
    :ivar backup: a backup of it
    :ivar image: a Glance image with its content
    """

    def __init__(
        self,
        driver: Driver,
        prefix: str,
        owner: cloud.Caller,
        admin: cloud.Caller,
        cluster: ceph_process.Cluster,
    ) -> None:
        self.driver = driver
        self.name = driver.name
        self.prefix = prefix
        self.owner = owner
        self.admin = admin
        self.cluster = cluster
        self.base: Volume
        self.backup = ''
        self.image = ''
        self.servers = servers.Servers(self)
        owner.connection.session.timeout = ANSWER

    def type_name(self, which: str = 'usual') -> str:
        """Return the name of a volume type."""
        if which not in self.driver.types:
            which = 'in-place'
        return f'{self.prefix}-{self.name}-{which}'

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        service: str = '',
        as_admin: bool = False,
    ) -> cloud.Answer:
        """Send a request as the owner; a lost connection is an answer."""
        compute = path.startswith('/servers')
        service = service or ('compute' if compute else 'block_storage')
        caller = self.admin if as_admin else self.owner
        try:
            return caller.respond(method, path, body, service)
        except exceptions.ConnectTimeout:
            return _HUNG
        except exceptions.ClientException:
            return _LOST

    def show(self, kind: str, ident: str) -> Record | None:
        """Return a resource; None if it does not exist.

        :raises ConnectionError: if the API does not answer
        """
        service = 'image' if kind == 'images' else 'block_storage'
        answer = self.ask('GET', f'/{kind}/{ident}', service=service)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise ConnectionError(answer.text)
        if kind == 'images':
            return answer.body
        record: Record = answer.body[kind.rstrip('s')]
        return record

    def listed(self, kind: str) -> list[Record]:
        """Return all resources of a kind that the owner has."""
        service, path = 'block_storage', f'/{kind}/detail'
        if kind == 'images':
            service = 'image'
            path = f'/images?owner={self.owner.project}&limit=500'
        answer = self.ask('GET', path, service=service)
        if answer.status != 200:
            raise ConnectionError(answer.text)
        records: list[Record] = answer.body[kind]
        return records

    def until(
        self, done: Callable[[], Any], what: str, seconds: float = _PATIENCE
    ) -> Any:
        """Wait until a function returns a true value, and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if value := done():
                    return value
            except ConnectionError:
                pass
            time.sleep(0.3)
        raise BrokenError(f'{self.name}: waited {seconds:.0f} s for {what}')

    # What operations start from

    def prepare(self, rng: random.Random) -> None:
        """Create what all rounds copy from."""
        self.base = self.filled('base', rng)
        self.add_snapshot(self.base, 'base')
        ident = self._made('backups', volume_id=self.base.ident, name='base')
        self.backup = ident
        body = self.upload('base')
        path = f'/volumes/{self.base.ident}/action'
        answer = self._accepted(self.ask('POST', path, body), 'upload')
        self.image = answer.body['os-volume_upload_image']['image_id']
        self.until(
            lambda: (
                (self.show('images', self.image) or {}).get('status')
                == 'active'
            ),
            'the image',
        )

    def upload(self, name: str) -> Record:
        """Return the request that uploads a volume to a Glance image."""
        return {
            'os-volume_upload_image': {
                'image_name': name,
                'disk_format': 'raw',
                'container_format': 'bare',
                'visibility': 'private',
            }
        }

    def filled(
        self, name: str, rng: random.Random, server: str = ''
    ) -> Volume:
        """Create a volume and write blocks to it.

        :param server: the server that is to use it, with a drawn cache mode
            if the driver is ours
        """
        blocks = contents.drawn(rng, 1)
        volume = Volume('', blocks, server=server)
        metadata = {}
        if server and self.name == 'ours':
            volume.mode = rng.choice(_MODES)
            metadata = {'rbd:cache_mode': volume.mode}
        volume.ident = self._made(
            'volumes',
            name=name,
            size=1,
            volume_type=self.type_name(),
            metadata=metadata,
        )
        self.cluster.write(self.driver.pool, f'volume-{volume.ident}', blocks)
        return volume

    def add_snapshot(self, volume: Volume, name: str) -> None:
        """Create a snapshot of a volume."""
        volume.snapshot = self._made(
            'snapshots', volume_id=volume.ident, name=name
        )

    def _made(self, kind: str, **body: Any) -> str:
        answer = self.ask('POST', f'/{kind}', {kind.rstrip('s'): body})
        self._accepted(answer, f'{kind} {body}')
        ident: str = answer.body[kind.rstrip('s')]['id']

        def done() -> bool:
            status = (self.show(kind, ident) or {}).get('status', 'gone')
            if status == 'gone' or status.startswith('error'):
                raise BrokenError(f'{self.name}: {kind} {body} is {status}')
            return bool(status == 'available')

        self.until(done, f'{kind} {body}')
        return ident

    def _accepted(self, answer: cloud.Answer, what: str) -> cloud.Answer:
        if not answer.accepted or answer.status < 200:
            raise BrokenError(
                f'{self.name}: {what}: {answer.status} {answer.text[:300]}'
            )
        return answer

    # Contents

    def image_of(self, record: Record) -> tuple[str, str]:
        """Return the pool and the name of the RBD image of a volume."""
        answer = self.admin.get(f'/volumes/{record["id"]}')
        shown = answer.body.get('volume', {})
        name = shown.get('os-vol-mig-status-attr:name_id') or record['id']
        section = (shown.get('os-vol-host-attr:host') or '').partition('#')[2]
        backend = kinds.BACKENDS.get(section)
        return backend.pool if backend else self.driver.pool, f'volume-{name}'

    def has_content(
        self,
        record: Record,
        *allowed: contents.Content,
        written: contents.Digests | None = None,
    ) -> str | None:
        """Return None if a volume has an allowed content, or what it has.

        :param written: what was written over it
        """
        pool, name = self.image_of(record)
        if self.cluster.state(pool, name) is None:
            return f'no image {pool}/{name}'
        digests = self.cluster.content(pool, name)
        over = written or {}
        if digests in [contents.digests(each) | over for each in allowed]:
            return None
        return f'{name} has {digests}, not one of {allowed}'
