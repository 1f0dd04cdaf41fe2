# SPDX-License-Identifier: Apache-2.0

"""The compute hosts of a cloud, by Nova and by what they told Cinder."""

from collections.abc import Iterator
from typing import Any

from rbd_volume_options import compute_hosts
from rbd_volume_options import definitions
from rbd_volume_options.families import cache_modes

COLUMNS = (
    'Host',
    'Service',
    'Plug-in',
    'Nova',
    'libvirt',
    'QEMU',
    'Cache modes',
    'Cannot apply',
    'Last heard',
)
_NOVA = '2.53'
_VERSIONS = ('plug_in', 'nova', 'libvirt', 'qemu')
_NO_PLUG_IN = 'none'


def rows(compute: Any, storage: Any) -> Iterator[tuple[str, ...]]:
    """Yield a row for each compute service.

    :param compute: Nova's API, as an administrator
    :param storage: Cinder's API, as an administrator
    """
    services = _answer(
        compute.get('/os-services?binary=nova-compute', microversion=_NOVA)
    )['services']
    told = {
        host['host']: host
        for host in _answer(storage.get(definitions.HOSTS_ROUTE))[
            'compute_hosts'
        ]
    }
    for service in sorted(services, key=lambda service: service['host']):
        status = f'{service["status"]}, {service["state"]}'
        yield (
            service['host'],
            status,
            *_said(told.get(service['host'], {})),
        )


def _said(host: Any) -> Iterator[str]:
    """Yield the columns of what a host told Cinder."""
    told = compute_hosts.heard(host)
    if told.host is None:
        yield from (_NO_PLUG_IN, '', '', '', '', '', told.at or 'never')
        return
    for name in _VERSIONS:
        yield told.host.versions.get(name, '')
    yield cache_modes.joined(told.host.modes)
    yield ', '.join(
        sorted(compute_hosts.keys_with_requirements() - told.host.keys)
    )
    yield told.at


def _answer(response: Any) -> Any:
    response.raise_for_status()
    return response.json()
