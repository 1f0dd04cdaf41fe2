# SPDX-License-Identifier: Apache-2.0

"""Checks the compute hosts of the cloud, by what they told Cinder."""

from collections.abc import Iterator
from typing import Any

from rbd_volume_options import compute_hosts
from rbd_volume_options import definitions
from rbd_volume_options.families import cache_modes
from rbd_volume_tools.command_line import findings

_SERVICES = '/os-services?binary=nova-compute'
_SUBJECT = 'compute hosts'
# Maximum number of hosts that a finding names.
_SHOWN = 5

Finding = findings.Finding
Severity = findings.Severity


def check(compute: Any, cinder: Any) -> Iterator[Finding]:
    """Check the enabled compute services, as an administrator.

    :param compute: the compute API of openstacksdk
    :param cinder: the block storage API
    """
    told = {
        host['host']: compute_hosts.heard(host)
        for host in _get(cinder, definitions.HOSTS_ROUTE)['compute_hosts']
    }
    hosts = {
        name: told.get(name, compute_hosts.Heard())
        for name in sorted(
            service['host']
            for service in _get(compute, _SERVICES)['services']
            if service['status'] == 'enabled'
        )
    }
    with_plug_in = {k: v.host for k, v in hosts.items() if v.host}
    yield Finding(
        _SUBJECT, f'{len(with_plug_in)} of {len(hosts)} have the plug-in'
    )
    unheard = [k for k, v in hosts.items() if not v.host and not v.at]
    without = [k for k, v in hosts.items() if not v.host and v.at]
    yield from _named(
        'without the plug-in',
        without,
        Severity.WARNING,
        'Cinder attaches no volume that requests a cache mode there. Install '
        'the plug-in, or require the traits CUSTOM_RBD_CACHE_* in flavors.',
    )
    yield from _named(
        'not heard yet',
        unheard,
        Severity.NOTICE,
        'A host reports what it can do when it attaches a volume. Run '
        'nova-rbd-cache check on it.',
    )
    for what, shown in (
        ('cache modes', lambda host: cache_modes.joined(host.modes)),
        ('plug-in versions', lambda host: host.versions.get('plug_in', '')),
    ):
        by_value: dict[str, list[str]] = {}
        for name, host in with_plug_in.items():
            by_value.setdefault(shown(host), []).append(name)
        if len(by_value) > 1:
            seen = '; '.join(
                f'{value}: {_names(names)}'
                for value, names in sorted(by_value.items())
            )
            yield findings.notice(
                f'{_SUBJECT}: {what}',
                seen,
                'A server that is moved to a host without the mode of a '
                'volume has none there. See nova-rbd-cache hosts.',
            )
    required = compute_hosts.keys_with_requirements()
    yield from _named(
        'that cannot apply all keys',
        [name for name, host in with_plug_in.items() if required - host.keys],
        Severity.NOTICE,
        'See nova-rbd-cache hosts for the keys and the versions of libvirt.',
    )


def _named(
    what: str, names: list[str], severity: Severity, remedy: str
) -> Iterator[Finding]:
    if names:
        subject = f'{_SUBJECT} {what}'
        yield Finding(subject, _names(names), severity, remedy)


def _names(names: list[str]) -> str:
    shown = ', '.join(names[:_SHOWN])
    rest = len(names) - _SHOWN
    return f'{shown} and {rest} more' if rest > 0 else shown


def _get(api: Any, path: str) -> Any:
    response = api.get(path)
    response.raise_for_status()
    return response.json()
