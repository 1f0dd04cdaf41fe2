# SPDX-License-Identifier: Apache-2.0

"""A fake cloud behind Horizon's clients, for tests of the volume forms.

It keeps state and answers HTTP requests in place of the adapters of
`requests`, so that Horizon's own API modules and the real clients run.
"""

from collections.abc import Callable
from collections.abc import Mapping
import hashlib
import json
import re
from typing import Any
from urllib import parse

import requests

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import rate_limits
from rbd_volume_options import registry
from rbd_volume_options import sizes

CINDER = 'http://cinder.example/v3/p'
NOVA = 'http://nova.example/v2.1'
GLANCE = 'http://glance.example'
ALIAS = 'os-rbd-volume-options'

#: The limits of a volume type, as the API extension returns them.
LIMITS = {
    'consumer': 'front-end',
    'limits': {'read_iops_sec': '500', 'write_bytes_sec': '104857600'},
}

_BOTH = {'settable': True, 'fixed_at_creation': True, 'summary': 'x'}
_VERSION = {'id': 'v3.0', 'status': 'CURRENT', 'links': []}
_VERSIONS = {
    'versions': [
        {**_VERSION, 'version': '3.71', 'min_version': '3.0'},
    ]
}


def offered(name: str, **changes: Any) -> dict[str, Any]:
    """Return the response of Cinder for a type that allows all options.

    :param changes: changes of options, by key without prefix
    """
    size = {'type': 'size', 'power_of_two': True}
    option: dict[str, Any] = {
        keys.OBJECT_SIZE: {
            **size,
            'minimum': 4096,
            'maximum': 2**25,
            'default': 2**22,
            'default_from': 'backend configuration',
        },
        keys.STRIPE_UNIT: {**size, 'minimum': 512, 'maximum': 2**25},
        keys.STRIPE_COUNT: {'type': 'count', 'minimum': 1, 'maximum': 64},
        keys.OBJECT_MAP: {
            'type': 'boolean',
            'allowed': [False, True],
            'default': True,
            'default_from': 'volume type',
        },
        keys.FEATURES: {
            'type': 'features',
            'required': ['layering'],
            'requires': {
                'fast-diff': ['object-map'],
                'object-map': ['exclusive-lock'],
            },
            'allowed': [
                'exclusive-lock',
                'fast-diff',
                'layering',
                'object-map',
            ],
            'default': ['exclusive-lock', 'layering', 'object-map'],
            'default_from': 'Ceph configuration',
        },
        keys.CACHE_MODE: {
            'type': 'word',
            'allowed': ['none', 'writethrough', 'writeback'],
            'fixed_at_creation': False,
        },
        keys.DATA_POOL: {'type': 'pool', 'settable': False},
    }
    for plain in registry.with_values():
        if plain.key not in option:
            option[plain.key] = {
                'type': plain.value_type.value,
                'fixed_at_creation': plain.fixed,
                **plain.bounds_of(
                    [operator_limits.Limits()], multiattach=False
                ),
            }
    for key, each in option.items():
        option[key] = {**_BOTH, 'default': None, 'default_from': None, **each}
    for word, change in changes.items():
        # A test can register a further option.
        option.setdefault(
            f'{keys.PREFIX}{word}',
            {**_BOTH, 'default': None, 'default_from': None},
        ).update(change)
    return {
        'id': f'id-of-{name}',
        'name': name,
        'supported': True,
        'reason': None,
        'require_whole_stripes': True,
        'options': option,
    }


def not_offered(name: str) -> dict[str, Any]:
    """Return the response of Cinder for a type of another driver."""
    return {
        'id': f'id-of-{name}',
        'name': name,
        'supported': False,
        'reason': 'no back end of the volume type supports RBD volume options',
        'options': {},
    }


def recorded(
    features: list[str] | None = None,
    layout: tuple[int, int, int] = (4 << 20, 4 << 20, 1),
    data_pool: str | None = None,
) -> dict[str, Any]:
    """Return the attributes of a volume; without features, of no record."""
    numbers = layout if features else (None, None, None)
    return {
        f'{ALIAS}:object_size': numbers[0],
        f'{ALIAS}:stripe_unit': numbers[1],
        f'{ALIAS}:stripe_count': numbers[2],
        f'{ALIAS}:features': features,
        f'{ALIAS}:data_pool': data_pool,
    }


class Refused(Exception):
    """An error response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Cloud:
    """The state of the cloud, its requests, and errors to raise.

    :ivar types: the discovery response for each volume type
    :ivar specs: the extra specs of each type, by its ID
    :ivar faults: exceptions to raise, by the start of "METHOD path"
    :ivar asked: each request as "METHOD path"
    :ivar timeouts: the timeout of each request
    :ivar notice: the Warning header of responses
    :ivar visible: admin metadata that is shown in the metadata of volumes
    :ivar meanwhile: what others do after a request, by "METHOD path"
    :ivar pools: the storage protocol of each pool of Cinder
    """

    def __init__(self) -> None:
        self.types: list[dict[str, Any]] = [
            offered('rbd'),
            not_offered('lvm'),
        ]
        self.specs: dict[str, dict[str, str]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.snapshots: dict[str, dict[str, Any]] = {}
        self.servers: dict[str, dict[str, Any]] = {}
        self.images: list[dict[str, Any]] = []
        self.default_type: str | None = 'rbd'
        self.faults: dict[str, Exception] = {}
        self.asked: list[str] = []
        self.timeouts: dict[str, Any] = {}
        self.notice: str | None = None
        self.visible: dict[str, str] = {}
        self.meanwhile: dict[str, Callable[[], object]] = {}
        self.pools = {'h@rbd#rbd': 'ceph', 'h@lvm#lvm': 'iSCSI'}

    def add_volume(self, ident: str, **changes: Any) -> dict[str, Any]:
        """Add a volume."""
        self.volumes[ident] = {
            'id': ident,
            'name': f'name-of-{ident}',
            'description': '',
            'size': 1,
            'status': 'available',
            'volume_type': 'rbd',
            'metadata': {},
            'attachments': [],
            'multiattach': False,
            'bootable': 'false',
            'encrypted': False,
            'availability_zone': 'nova',
            'created_at': '2026-01-01T00:00:00.000000',
            'group_id': None,
            'os-vol-host-attr:host': 'h@rbd#rbd',
            **recorded(['layering', 'striping'], (2**23, 2**16, 8)),
            f'{ALIAS}:cache_modes': {},
            **changes,
        }
        return self.volumes[ident]

    def send(
        self, adapter: Any, request: Any, **kwargs: Any
    ) -> requests.Response:
        """Answer a request in place of an adapter of `requests`."""
        url = parse.urlsplit(request.url)
        what = f'{request.method} {url.path}'
        self.asked.append(what)
        self.timeouts[what] = kwargs.get('timeout')
        for start, error in self.faults.items():
            if what.startswith(start) and not isinstance(error, Refused):
                raise error
        response = requests.Response()
        response.request = request
        response.url = request.url
        response.headers['Content-Type'] = 'application/json'
        response.headers['X-Subject-Token'] = 't'
        if self.notice:
            response.headers['Warning'] = f'299 - "{self.notice}"'
        try:
            for start, error in self.faults.items():
                if what.startswith(start):
                    raise error
            body = dict(parse.parse_qsl(url.query))
            if request.body:
                body = json.loads(request.body)
            self._check_etag(request, url.path)
            answer = self._answer(what, body)
            response.status_code = 200
            if what.startswith('GET') and _has_etags(request):
                response.headers['Etag'] = _etag(answer)
        except Refused as error:
            response.status_code = error.status
            answer = {'badRequest': {'message': str(error)}}
        response._content = json.dumps(answer).encode()
        self.meanwhile.get(what, dict)()
        return response

    def _check_etag(self, request: Any, path: str) -> None:
        wanted = request.headers.get('If-Match')
        if not wanted or not _has_etags(request):
            return
        if wanted != _etag(self._answer(f'GET {path}', {})):
            raise Refused(412, 'changed meanwhile')

    def _answer(self, what: str, body: Any) -> Any:
        for pattern, answer in _ROUTES:
            if match := re.fullmatch(pattern, what):
                return answer(self, body, **match.groupdict())
        raise AssertionError(f'the fake cloud has no {what}')

    # Cinder

    def _type_list(self, body: Any) -> Any:
        return {
            'volume_types': [
                {
                    'id': each['id'],
                    'name': each['name'],
                    'extra_specs': {},
                    'description': '',
                }
                for each in self.types
            ]
        }

    def _type_default(self, body: Any) -> Any:
        if self.default_type is None:
            raise Refused(404, 'no default type')
        name = self.default_type
        return {'volume_type': {'id': f'id-of-{name}', 'name': name}}

    def _type(self, body: Any, ident: str) -> Any:
        return {'volume_type': {'id': ident, 'name': ident}}

    def _extra_specs(self, body: Any, ident: str) -> Any:
        return {'extra_specs': self.specs.setdefault(ident, {})}

    def _set_extra_specs(self, body: Any, ident: str) -> Any:
        specs = self._extra_specs(body, ident)['extra_specs']
        _check({**specs, **body['extra_specs']}, keys.Scope.TYPE)
        specs.update(body['extra_specs'])
        return body

    def _delete_extra_spec(self, body: Any, ident: str, key: str) -> Any:
        specs = self.specs[ident]
        gone = {key, registry.partner(key)}
        rest = {k: v for k, v in specs.items() if k not in gone}
        _check(rest, keys.Scope.TYPE)
        self.specs[ident] = rest
        return {}

    def _create(self, body: Any) -> Any:
        wanted = body['volume']
        _check(wanted['metadata'])
        made = self.add_volume(
            f'new-{len(self.volumes)}',
            **{
                key: wanted[key]
                for key in ('size', 'name', 'metadata', 'volume_type')
            },
        )
        return {'volume': made}

    def _list_volumes(self, body: Any) -> Any:
        idents = list(self.volumes)
        if marker := body.get('marker'):
            if marker not in idents:
                raise Refused(404, f'no volume {marker}')
            idents = idents[idents.index(marker) + 1 :]
        limit = int(body.get('limit', 1000))
        return {'volumes': [self.volumes[each] for each in idents[:limit]]}

    def _list_pools(self, body: Any) -> Any:
        return {
            'pools': [
                {'name': name, 'capabilities': {'storage_protocol': protocol}}
                for name, protocol in self.pools.items()
            ]
        }

    def _volume(self, body: Any, ident: str) -> Any:
        if ident not in self.volumes:
            raise Refused(404, f'no volume {ident}')
        volume = self.volumes[ident]
        metadata = {**volume['metadata'], **self.visible}
        return {'volume': {**volume, 'metadata': metadata}}

    def _metadata(self, body: Any, ident: str) -> Any:
        return {'metadata': self.volumes[ident]['metadata']}

    def _set_metadata(self, body: Any, ident: str) -> Any:
        metadata = self.volumes[ident]['metadata']
        _check({**metadata, **body['metadata']})
        metadata.update(body['metadata'])
        return {'metadata': metadata}

    def _delete_metadata(self, body: Any, ident: str, key: str) -> Any:
        del self.volumes[ident]['metadata'][parse.unquote(key)]
        return {}

    def _replace_metadata(self, body: Any, ident: str) -> Any:
        _check(body['metadata'])
        metadata = self.volumes[ident]['metadata']
        metadata.clear()
        metadata.update(body['metadata'])
        return {'metadata': metadata}

    def _act(self, body: Any, ident: str) -> Any:
        ((action, wanted),) = body.items()
        volume = self.volumes[ident]
        if action == 'os-extend':
            volume['size'] = wanted['new_size']
        elif action == 'os-retype':
            volume['volume_type'] = wanted['new_type']
        else:
            raise AssertionError(f'the fake cloud has no {action}')
        return {}

    def _limits(self, body: Any) -> Any:
        names = ('Gigabytes', 'Volumes', 'Snapshots')
        return {
            'limits': {
                'rate': [],
                'absolute': {
                    **{f'maxTotal{name}': 1000 for name in names},
                    'maxTotalVolumeGigabytes': 1000,
                    **{f'total{name}Used': 0 for name in names},
                },
            }
        }

    # Nova

    def _attach(self, body: Any, ident: str) -> Any:
        volume = self.volumes[body['volumeAttachment']['volumeId']]
        volume['status'] = 'in-use'
        return {
            'volumeAttachment': {
                'id': volume['id'],
                'volumeId': volume['id'],
                'serverId': ident,
                'device': '/dev/vdb',
            }
        }


def _check(
    items: Mapping[str, str], scope: keys.Scope = keys.Scope.VOLUME
) -> None:
    """Refuse invalid options as Cinder's API extension does."""
    origin = errors.Origin.VOLUME_METADATA
    try:
        parsed = options.parse(items, scope, origin)
        rate_limits.limits_of(parsed, sizes.GIB)
    except errors.OptionError as error:
        raise Refused(400, f'RBD volume option refused: {error}') from error


def _has_etags(request: Any) -> bool:
    """Return whether Cinder handles the Etag of metadata in a request."""
    version: str | None = request.headers.get('OpenStack-API-Version')
    path = str(request.url)
    return path.endswith('/metadata') and version == 'volume 3.15'


def _etag(answer: Any) -> str:
    return hashlib.sha256(json.dumps(answer).encode()).hexdigest()


def _fixed(answer: Any) -> Callable[..., Any]:
    return lambda cloud, body, **ignored: answer


_KEYSTONE = {
    'id': 'v3.14',
    'status': 'stable',
    'links': [{'rel': 'self', 'href': 'http://keystone.example/v3/'}],
}
_NOVA = {
    'id': 'v2.1',
    'status': 'CURRENT',
    'version': '2.100',
    'min_version': '2.1',
    'links': [{'rel': 'self', 'href': NOVA}],
}
_TOKEN = {
    'methods': ['token'],
    'expires_at': '2999-01-01T00:00:00.000000Z',
    'issued_at': '2026-01-01T00:00:00.000000Z',
    'user': {'id': 'u', 'name': 'u', 'domain': {'id': 'd', 'name': 'd'}},
    'project': {'id': 'p', 'name': 'p', 'domain': {'id': 'd', 'name': 'd'}},
    'roles': [],
    'catalog': [],
}
_IMAGE = {
    'status': 'active',
    'container_format': 'bare',
    'disk_format': 'raw',
    'size': 1,
    'min_disk': 0,
    'min_ram': 0,
    'visibility': 'public',
    'owner': 'p',
}
_P = '/v3/p'
_ROUTES: list[tuple[str, Callable[..., Any]]] = [
    (r'GET /', _fixed(_VERSIONS)),
    (r'GET /v3/?', _fixed({'version': _KEYSTONE})),
    (r'POST /v3/auth/tokens', _fixed({'token': _TOKEN})),
    (r'GET /v2.1/?', _fixed({'version': _NOVA})),
    (
        rf'GET {_P}/os-rbd-volume-options',
        lambda cloud, body: {'volume_types': cloud.types},
    ),
    (rf'GET {_P}/types', Cloud._type_list),
    (rf'GET {_P}/types/default', Cloud._type_default),
    (rf'GET {_P}/types/[^/]+/encryption', _fixed({})),
    (rf'GET {_P}/qos-specs', _fixed({'qos_specs': []})),
    (rf'GET {_P}/types/(?P<ident>[^/]+)', Cloud._type),
    (rf'GET {_P}/types/(?P<ident>[^/]+)/extra_specs', Cloud._extra_specs),
    (
        rf'POST {_P}/types/(?P<ident>[^/]+)/extra_specs',
        Cloud._set_extra_specs,
    ),
    (
        rf'DELETE {_P}/types/(?P<ident>[^/]+)/extra_specs/(?P<key>[^/]+)',
        Cloud._delete_extra_spec,
    ),
    (rf'GET {_P}/extensions', _fixed({'extensions': []})),
    (rf'GET {_P}/limits', Cloud._limits),
    (rf'GET {_P}/groups/detail', _fixed({'groups': []})),
    (
        rf'GET {_P}/snapshots/detail',
        lambda cloud, body: {'snapshots': list(cloud.snapshots.values())},
    ),
    (
        rf'GET {_P}/snapshots/(?P<ident>[^/]+)',
        lambda cloud, body, ident: {'snapshot': cloud.snapshots[ident]},
    ),
    (rf'GET {_P}/volumes/detail', Cloud._list_volumes),
    (rf'GET {_P}/scheduler-stats/get_pools', Cloud._list_pools),
    (rf'GET {_P}/os-volume-transfer/detail', _fixed({'transfers': []})),
    (rf'GET {_P}/messages', _fixed({'messages': []})),
    (rf'POST {_P}/volumes', Cloud._create),
    (rf'GET {_P}/volumes/(?P<ident>[^/]+)', Cloud._volume),
    (rf'GET {_P}/volumes/(?P<ident>[^/]+)/metadata', Cloud._metadata),
    (rf'POST {_P}/volumes/(?P<ident>[^/]+)/metadata', Cloud._set_metadata),
    (rf'POST {_P}/volumes/(?P<ident>[^/]+)/action', Cloud._act),
    (rf'PUT {_P}/volumes/(?P<ident>[^/]+)/metadata', Cloud._replace_metadata),
    (
        rf'DELETE {_P}/volumes/(?P<ident>[^/]+)/metadata/(?P<key>[^/]+)',
        Cloud._delete_metadata,
    ),
    (
        r'GET /v2.1/servers/detail',
        lambda cloud, body: {'servers': list(cloud.servers.values())},
    ),
    (
        r'GET /v2.1/servers/(?P<ident>[^/]+)',
        lambda cloud, body, ident: {'server': cloud.servers[ident]},
    ),
    (
        r'POST /v2.1/servers/(?P<ident>[^/]+)/os-volume_attachments',
        Cloud._attach,
    ),
    (r'GET /v2.1/extensions', _fixed({'extensions': []})),
    (r'GET /v2/images', lambda cloud, body: {'images': cloud.images}),
    (
        r'GET /v2/images/(?P<ident>[^/]+)',
        lambda cloud, body, ident: {'id': ident, 'name': ident, **_IMAGE},
    ),
    (
        r'GET /v2/schemas/image',
        _fixed({'name': 'image', 'properties': {'id': {'type': 'string'}}}),
    ),
]
