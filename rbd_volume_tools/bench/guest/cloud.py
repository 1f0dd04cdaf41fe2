# SPDX-License-Identifier: Apache-2.0

"""The servers and volumes of a run in a cloud, and no others.

All of them have the name of the run: that of an RBD image in the pool, which
the run has open. If there is no such image, the run has ended, and what has
its name can be removed.
"""

import base64
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import api

#: Metadata of servers and volumes: the cluster and the pool of the run.
POOL = 'cinder-rbd-ext-bench-pool'
#: The first microversion that accepts no network.
_MICROVERSION = '2.37'

#: The name of no network.
NO_NETWORK = 'none'


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the operator wants to be created.

    :ivar network: ``none``, or the name or ID of a network
    :ivar volume_type: None for Cinder's default
    :ivar user_data: whether the guest gets its program as user data; if not,
        the Glance image contains it
    """

    image: str
    flavor: str
    network: str = NO_NETWORK
    volume_type: str | None = None
    user_data: bool = True


class Cloud:
    """A connection to a cloud.

    :param connection: of openstacksdk
    :param pool: identifies the cluster and the pool of the volumes
    """

    def __init__(self, connection: Any, wanted: Wanted, pool: str) -> None:
        self._connection = connection
        self._wanted = wanted
        self._pool = pool
        self._found: api.Record = {}
        self._hardware: dict[str, str] = {}

    def check(self) -> None:
        """Find what the server needs.

        :raises OptionError: if it does not exist
        """
        connection, wanted = self._connection, self._wanted
        needed: list[tuple[str, str, Callable[[str], Any]]] = [
            ('--server-image', wanted.image, connection.image.find_image),
            ('--flavor', wanted.flavor, connection.compute.find_flavor),
        ]
        if wanted.network != NO_NETWORK:
            find = connection.network.find_network
            needed.append(('--network', wanted.network, find))
        for option, name, find in needed:
            resource = find(name)
            if resource is None:
                raise errors.OptionError(
                    option, name, 'not found in the cloud', 'a name or an ID'
                )
            self._found[option] = resource.id
            if option == '--server-image':
                self._hardware = {
                    name: getattr(resource, f'hw_{name}', None) or 'default'
                    for name in ('machine_type', 'disk_bus')
                }

    # Servers

    def boot(self, name: str, program: bytes) -> api.Record:
        """Create a server and return it when it is active.

        :param program: the user data
        :raises processes.EngineError: if the cloud refuses it, or it fails
        """
        network = self._found.get('--network')
        body: api.Record = {
            'name': name,
            'imageRef': self._found['--server-image'],
            'flavorRef': self._found['--flavor'],
            'networks': [{'uuid': network}] if network else NO_NETWORK,
            'metadata': {POOL: self._pool},
        }
        if self._wanted.user_data:
            # Without a network there is no metadata service.
            body['config_drive'] = True
            body['user_data'] = base64.b64encode(program).decode()
        made = self._compute(
            'POST', '/servers', {'server': body}, microversion=_MICROVERSION
        )
        path = f'/servers/{made["server"]["id"]}'

        def active() -> api.Record | None:
            server: api.Record = self._compute('GET', path)['server']
            if server['status'] == 'ERROR':
                fault = server.get('fault', {}).get('message', 'no reason')
                raise processes.EngineError(f'server {name}: {fault}')
            return server if server['status'] == 'ACTIVE' else None

        server: api.Record = api.wait(active, f'server {name} is not active')
        return server

    def described(self, server: api.Record) -> dict[str, str]:
        """Return the facts about a server that affect results."""
        # Only administrators see the name of the host.
        host = server.get('OS-EXT-SRV-ATTR:host') or server['hostId']
        return {
            'server_image': self._wanted.image,
            'flavor': self._wanted.flavor,
            'host': host,
            **self._hardware,
        }

    def console(self, server: str) -> str:
        """Return the end of a server's console."""
        answer = self._compute(
            'POST', f'/servers/{server}/action', {'os-getConsoleOutput': {}}
        )
        return str(answer['output'])

    def remove_servers(self, name: str) -> None:
        """Remove the servers of a run and wait until they are gone."""

        def gone() -> bool:
            return not self._servers(name)

        for server in self._servers(name):
            self._compute('DELETE', f'/servers/{server["id"]}', missing=True)
        api.wait(gone, f'server {name} is not deleted')

    # Volumes

    def create_volume(
        self,
        name: str,
        gib: int,
        metadata: Mapping[str, str],
        volume_type: str | None = None,
    ) -> str:
        """Create a volume and return its ID when it is available.

        :param volume_type: None for that of all volumes
        :raises processes.EngineError: if Cinder refuses it, or it fails
        """
        body: api.Record = {
            'name': name,
            'size': gib,
            'metadata': {**metadata, POOL: self._pool},
        }
        if chosen := volume_type or self._wanted.volume_type:
            body['volume_type'] = chosen
        made = self._storage('POST', '/volumes', {'volume': body})
        ident = str(made['volume']['id'])

        def available() -> bool:
            status = self.volume(ident)['status']
            if status.startswith('error'):
                raise processes.EngineError(f'volume {name} is in {status}')
            return bool(status == 'available')

        api.wait(available, f'volume {name} is not available')
        return ident

    def volume(self, ident: str) -> api.Record:
        """Return a volume."""
        volume: api.Record = self._storage('GET', f'/volumes/{ident}')[
            'volume'
        ]
        return volume

    def set_metadata(self, volume: str, key: str, value: str) -> None:
        """Set a key in the metadata of a volume."""
        body = {'metadata': {key: value}}
        self._storage('POST', f'/volumes/{volume}/metadata', body)

    def remove_volumes(self, name: str, kept: Collection[str] = ()) -> None:
        """Remove the volumes of a run and wait until they are gone.

        :param kept: IDs of volumes that remain
        """

        def gone() -> bool:
            left = [x for x in self._volumes(name) if x['id'] not in kept]
            for volume in left:
                # A volume whose server was deleted is in use for a moment.
                if volume['status'] in ('available', 'error'):
                    self._storage(
                        'DELETE', f'/volumes/{volume["id"]}', missing=True
                    )
            return not left

        api.wait(gone, f'volume {name} is not deleted')

    # Attachments

    def attach(self, server: str, volume: str) -> api.Record:
        """Attach a volume and return it.

        :raises processes.EngineError: if it is not attached
        """
        path = f'/servers/{server}/os-volume_attachments'
        body = {'volumeAttachment': {'volumeId': volume}}
        self._compute('POST', path, body)

        def attached() -> api.Record | None:
            current = self.volume(volume)
            if current['status'] == 'in-use':
                return current
            if not self._compute('GET', f'{path}/{volume}', missing=True):
                raise processes.EngineError(
                    'Nova did not attach the volume; see the log of '
                    'nova-compute'
                )
            return None

        late = f'volume {volume} is not attached'
        made: api.Record = api.wait(attached, late)
        return made

    def detach(self, server: str, volume: str) -> None:
        """Detach a volume.

        :raises processes.EngineError: if it stays attached
        """
        path = f'/servers/{server}/os-volume_attachments/{volume}'
        self._compute('DELETE', path, missing=True)

        def detached() -> bool:
            # Nova deletes its record of the attachment after Cinder's.
            return self.volume(volume)['status'] == 'available' and not (
                self._compute('GET', path, missing=True)
            )

        api.wait(detached, f'volume {volume} is not detached')

    # Leftovers

    def remove(self, name: str) -> None:
        """Remove what a run has created.

        :raises processes.EngineError: if something remains
        """
        if not name.startswith(images.PREFIX):
            raise ValueError(f'{name} was not created by a benchmark')
        self.remove_servers(name)
        self.remove_volumes(name)

    def left(self) -> Collection[str]:
        """Return the names of all runs that have servers or volumes."""
        return {each['name'] for each in (*self._servers(), *self._volumes())}

    def _servers(self, name: str = '') -> list[api.Record]:
        servers = self._compute(
            'GET', f'/servers/detail?name={images.PREFIX}'
        )['servers']
        return self._own(servers, name)

    def _volumes(self, name: str = '') -> list[api.Record]:
        volumes = self._storage('GET', '/volumes/detail')['volumes']
        return self._own(volumes, name)

    def _own(self, resources: list[api.Record], name: str) -> list[api.Record]:
        """Return those of a run; of all runs with this pool by default."""
        return [
            each
            for each in resources
            if (each['name'] or '').startswith(name or images.PREFIX)
            and each['metadata'].get(POOL) == self._pool
        ]

    # Requests

    def _compute(self, *args: Any, **kwargs: Any) -> api.Record:
        return api.request(self._connection.compute, *args, **kwargs)

    def _storage(self, *args: Any, **kwargs: Any) -> api.Record:
        return api.request(self._connection.block_storage, *args, **kwargs)
