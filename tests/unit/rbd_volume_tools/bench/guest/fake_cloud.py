# SPDX-License-Identifier: Apache-2.0

"""A cloud with state: servers with a guest, and volumes in a fake pool."""

import base64
from collections.abc import Callable
import gzip
import itertools
import json
import re
import types
from typing import Any

import requests

from rbd_volume_tools.bench import images
from tests import feature_bits
from tests.fakes import fake_librbd
from tests.fakes import fake_rados

Record = dict[str, Any]

REPORT = {
    'jobs': [
        {
            'error': 0,
            'elapsed': 3,
            'usr_cpu': 20.0,
            'sys_cpu': 5.0,
            'read': {
                'total_ios': 200,
                'runtime': 2000,
                'io_bytes': 2**20,
                'clat_ns': {'mean': 2e6, 'percentile': {'99.000000': 5e6}},
            },
            'write': {'total_ios': 0, 'runtime': 0, 'io_bytes': 0},
        }
    ]
}


def results(number: int, cache: str = 'write back') -> str:
    """Return what a guest writes to its console after a job."""
    text = f'cache={cache}\nkernel=6.1\nfio=fio-3.33\n{json.dumps(REPORT)}\n'
    packed = base64.encodebytes(gzip.compress(text.encode())).decode()
    start = f'cinder-rbd-ext-bench: {number}'
    lines = [f'{start} = {line}' for line in packed.splitlines()]
    # A message of the kernel between the lines, and the ends of a terminal.
    lines.insert(1, '[   42.0] virtio_blk virtio3: [vdb] new size')
    return '\r\n'.join([f'{start} begin', *lines, f'{start} end', ''])


class Service:
    """An API.

    :ivar faults: the status of the answer by the start of ``METHOD /path``
    :ivar requests: all requests, as ``METHOD /path``
    """

    def __init__(self) -> None:
        self.routes: list[tuple[str, Callable[..., Any]]] = []
        self.faults: dict[str, int] = {}
        self.requests: list[str] = []

    def request(
        self, path: str, method: str, json: Any = None, **kwargs: Any
    ) -> requests.Response:
        """Answer a request."""
        name = f'{method} {path}'
        self.requests.append(name)
        for start, status in self.faults.items():
            if name.startswith(start):
                return _response(status, {'fault': 'as the test wants'})
        for pattern, answer in self.routes:
            if match := re.fullmatch(pattern, name):
                body = answer(*match.groups(), *([json] if json else []))
                if body is None:
                    return _response(404, {})
                return _response(200, body)
        raise AssertionError(name)


def _response(status: int, body: Any) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = json.dumps(body).encode()
    return made


class Cloud:
    """A cloud, as a connection of openstacksdk.

    :ivar ready: what the guest of a new server writes to its console
    :ivar answer: returns what the guest writes for the number of a job
    :ivar modes: the cache mode of each attachment, in this order
    :ivar recorded: the recorded cache mode, if not the requested one
    :ivar is_stock: whether Cinder ignores the keys of volumes
    :ivar status: of a new server
    :ivar refuse_attachment: whether a compute host refuses an attachment
    """

    def __init__(self, cluster: fake_rados.Cluster) -> None:
        self._cluster = cluster
        self._idents = itertools.count(1)
        self.servers: dict[str, Record] = {}
        self.volumes: dict[str, Record] = {}
        self.ready = 'cinder-rbd-ext-bench: ready\r\n'
        self.answer: Callable[[int], str] = results
        self.modes: list[str] = []
        self.recorded: str | None = ''
        self.is_stock = False
        self.status = 'ACTIVE'
        self.refuse_attachment = False
        self.compute = Service()
        self.block_storage = Service()
        self.image = types.SimpleNamespace(find_image=_find('fio'))
        self.compute.find_flavor = _find('small')  # type: ignore[attr-defined]
        self.network = types.SimpleNamespace(find_network=_find('private'))
        attachment = r'/servers/(\w+)/os-volume_attachments'
        self.compute.routes = [
            ('POST /servers', self._boot),
            (r'GET /servers/detail\?name=.*', self._list_servers),
            (r'GET /servers/(\w+)', self._server),
            (r'DELETE /servers/(\w+)', self._delete_server),
            (r'POST /servers/(\w+)/action', self._console),
            (f'POST {attachment}', self._attach),
            (rf'GET {attachment}/(\w+)', self._attachment),
            (rf'DELETE {attachment}/(\w+)', self._detach),
        ]
        self.block_storage.routes = [
            ('POST /volumes', self._create),
            ('GET /volumes/detail', self._list_volumes),
            (r'GET /volumes/(\w+)', self._volume),
            (r'POST /volumes/(\w+)/metadata', self._set_metadata),
            (r'DELETE /volumes/(\w+)', self._delete_volume),
        ]

    # Servers

    def _boot(self, body: Record) -> Record:
        ident = f's{next(self._idents)}'
        server = {
            **body['server'],
            'id': ident,
            'status': self.status,
            'fault': {'message': 'no valid host'},
            'hostId': 'hashed',
            'console': self.ready,
        }
        self.servers[ident] = server
        return {'server': server}

    def _list_servers(self) -> Record:
        return {'servers': list(self.servers.values())}

    def _server(self, ident: str) -> Record | None:
        return {'server': self.servers[ident]}

    def _delete_server(self, ident: str) -> Record:
        del self.servers[ident]
        for volume in self.volumes.values():
            if volume['attachments'] == [ident]:
                volume.update(status='available', attachments=[])
        return {}

    def _console(self, ident: str, body: Record) -> Record:
        return {'output': self.servers[ident]['console']}

    # Volumes

    def _create(self, body: Record) -> Record:
        ident = f'v{next(self._idents)}'
        volume = {
            **body['volume'],
            'id': ident,
            'status': 'available',
            'attachments': [],
        }
        self.volumes[ident] = volume
        made = {
            key: value
            for key, value in volume['metadata'].items()
            if key.startswith('rbd:') and not self.is_stock
        }
        with self._cluster.connected() as ioctx:
            fake_librbd.Librbd(self._cluster).RBD().create(
                ioctx,
                f'volume-{ident}',
                2**30,
                old_format=False,
                **images.arguments(made, feature_bits.DEFAULT),
            )
        return {'volume': volume}

    def _list_volumes(self) -> Record:
        return {'volumes': list(self.volumes.values())}

    def _volume(self, ident: str) -> Record:
        return {'volume': self.volumes[ident]}

    def _set_metadata(self, ident: str, body: Record) -> Record:
        self.volumes[ident]['metadata'].update(body['metadata'])
        return body

    def _delete_volume(self, ident: str) -> Record:
        del self.volumes[ident]
        self._cluster.pools['volumes'].images.pop(f'volume-{ident}', None)
        return {}

    # Attachments

    def _attach(self, server: str, body: Record) -> Record:
        ident = body['volumeAttachment']['volumeId']
        if self.refuse_attachment:
            return {}
        volume = self.volumes[ident]
        mode = volume['metadata']['rbd:cache_mode']
        self.modes.append(mode)
        volume.update(status='in-use', attachments=[server])
        if not self.is_stock:
            # An empty text is the requested mode.
            shown = mode if self.recorded == '' else self.recorded
            recorded = {'attachment': shown}
            volume['os-rbd-volume-options:cache_modes'] = recorded
        start = self._cluster.stored(f'volume-{ident}').start.decode()
        number = int(start.split()[1])
        self.servers[server]['console'] += self.answer(number)
        return {}

    def _attachment(self, server: str, ident: str) -> Record | None:
        attached = self.volumes[ident]['attachments'] == [server]
        return {} if attached else None

    def _detach(self, server: str, ident: str) -> Record:
        self.volumes[ident].update(status='available', attachments=[])
        return {}


def _find(known: str) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name != known:
            return None
        return types.SimpleNamespace(id=f'{name}-id')

    return find
