# SPDX-License-Identifier: Apache-2.0

"""Checks the running parts through the APIs of the cloud."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import findings

# The endpoints may belong to different services.
_INTERFACES = ('public', 'internal', 'admin')
# Maximum number of IDs that a finding lists.
_SHOWN = 5
# Statuses of a migration in progress, and the time without a change of the
# volume after which it is reported.
_MIGRATING = ('starting', 'migrating', 'completing')
_UNCHANGED = datetime.timedelta(days=1)
_BACKEND_NAME = 'volume_backend_name'
_LIMIT_KEYS = frozenset(
    key
    for each in keys.LIMITS
    for key in (each.limit, each.burst, each.per_gib, each.maximum)
)

Finding = findings.Finding
Severity = findings.Severity


@dataclasses.dataclass(frozen=True)
class VolumeType:
    """A volume type.

    :ivar specs: its extra specs
    """

    ident: str
    name: str
    specs: Mapping[str, str]
    is_encrypted: bool = False


def volume_types(cinder: Any) -> list[VolumeType]:
    """Return the volume types, as an administrator sees them."""
    found = []
    for each in answers.volume_types(cinder):
        answer = _get(cinder, f'/types/{each["id"]}/encryption')
        found.append(
            VolumeType(
                *(each['id'], each['name'], each.get('extra_specs') or {}),
                bool(answer.get('encryption_id')),
            )
        )
    return found


def check(
    cinder: Any, types: Sequence[VolumeType], nodes: Sequence[str] = ()
) -> Iterator[Finding]:
    """Check Cinder's running services, as an administrator.

    :param cinder: the block storage API of openstacksdk
    :param nodes: URLs of cinder-api services, with the version, to ask in
        addition to the endpoints of the catalog
    """
    urls = {cinder.get_endpoint(interface=each) for each in _INTERFACES}
    for url in sorted({url.rstrip('/') for url in (*urls, *nodes) if url}):
        yield _check_extension(cinder, url)
    pools = _get(cinder, '/scheduler-stats/get_pools?detail=True')['pools']
    for pool in pools:
        report = pool['capabilities']
        if report.get('storage_protocol') != 'ceph':
            continue
        ours = report.get(backend_settings.CAPABILITY) is True
        yield Finding(
            f'running back end {pool["name"]}',
            'our driver' if ours else 'another RBD driver',
            None if ours else Severity.WARNING,
            '' if ours else 'Set volume_driver and restart cinder-volume.',
        )
    yield _check_migrations(cinder)
    yield _check_retypes(cinder)
    yield from _check_limits(cinder, types, pools)
    yield from _check_compression(types)


def _check_limits(
    cinder: Any, types: Sequence[VolumeType], pools: Any
) -> Iterator[Finding]:
    """Check that no volume type has limits of two kinds.

    Those of keys are set by the type, or by tenants where they may.
    """
    default = {
        key
        for pool in pools
        for key in pool['capabilities'].get('rbd_tenant_options') or ()
    }
    limited, permitted = {}, {}
    for kind in types:
        if not _LIMIT_KEYS.isdisjoint(kind.specs):
            limited[kind.ident] = kind.name
        elif settable := _settable(kind.specs, default):
            permitted[kind.ident] = kind.name, settable
    if not limited and not permitted:
        return
    for specs in _get(cinder, '/qos-specs')['qos_specs']:
        path = f'/qos-specs/{specs["id"]}/associations'
        for each in _get(cinder, path)['qos_associations']:
            if each['id'] in limited:
                yield _two_limits(limited[each['id']], specs)
            elif each['id'] in permitted and specs['consumer'] != 'front-end':
                yield _permitted(*permitted[each['id']], specs)


def _settable(specs: Mapping[str, str], default: Iterable[str]) -> list[str]:
    """Return the keys about limits that tenants may set on a type."""
    text = specs.get(keys.TENANT_OPTIONS)
    try:
        chosen = default if text is None else registry.parse_key_list(text)
    except errors.OptionError:
        # Another check reports it.
        chosen = ()
    return sorted(_LIMIT_KEYS.intersection(chosen))


def _permitted(
    volume_type: str, settable: Sequence[str], specs: Any
) -> Finding:
    return findings.warning(
        f'limits of volume type {volume_type}',
        f'QoS specs {specs["name"]}; tenants may set {", ".join(settable)}',
        'A key of a tenant replaces the limit of the same kind in the QoS '
        'specs, which is its maximum. Set the extra spec '
        'rbd:iops_limit_maximum and so on for another maximum, or do not '
        'permit the keys.',
    )


def _two_limits(volume_type: str, specs: Any) -> Finding:
    subject = f'limits of volume type {volume_type}'
    shown = f'also QoS specs {specs["name"]}, consumer {specs["consumer"]}'
    if specs['consumer'] == 'front-end':
        return findings.notice(
            subject,
            shown,
            'QEMU applies the QoS specs in addition: the lower limit applies.',
        )
    return findings.warning(
        subject,
        shown,
        'Set limits by keys or by QoS specs. A key replaces the QoS specs for '
        'the same kind of limit, such as iops.',
    )


def _check_compression(types: Iterable[VolumeType]) -> Iterator[Finding]:
    """Check that no type requests the compression of encrypted data."""
    for each in types:
        if each.is_encrypted and keys.COMPRESSION_HINT in each.specs:
            yield findings.warning(
                f'volume type {each.name}',
                f'{keys.COMPRESSION_HINT} has no use: its volumes are '
                'encrypted',
                'Remove the key. Encrypted data cannot be compressed, and the '
                'attempt takes processor time of the storage.',
            )


def _check_retypes(cinder: Any) -> Finding:
    """Check that no volume is being retyped.

    Only our driver can complete a retype that it has begun.
    """
    volumes = _get(cinder, '/volumes?all_tenants=1&status=retyping')['volumes']
    return listed(
        'volumes in a retype',
        [each['id'] for each in volumes],
        Severity.NOTICE,
        'Before you remove the suite or replace the driver, wait until they '
        'have ended.',
    )


def _check_migrations(cinder: Any) -> Finding:
    """Check that no migration has stopped, as after the end of its service.

    Nobody else completes it, and Cinder refuses to delete the volume.
    """
    path = '/volumes/detail?all_tenants=1&migration_status='
    before = datetime.datetime.now(datetime.timezone.utc) - _UNCHANGED
    return listed(
        f'volumes in a migration, unchanged for {_UNCHANGED.days} day',
        [
            each['id']
            for status in _MIGRATING
            for each in _get(cinder, f'{path}{status}')['volumes']
            # Cinder ignores the filter of other users.
            if each.get('migration_status') == status
            and records.utc(each['updated_at'] or each['created_at']) < before
        ],
        Severity.WARNING,
        'See the log of cinder-volume on their hosts. If no migration runs: '
        'cinder reset-state --reset-migration-status <volume>.',
    )


def listed(
    subject: str, idents: Iterable[str], severity: Severity, remedy: str
) -> Finding:
    """Return the finding about resources; without problem if none exist."""
    (*all_idents,) = idents
    if not all_idents:
        return Finding(subject, 'none')
    shown = ', '.join(all_idents[:_SHOWN])
    return Finding(subject, f'{len(all_idents)}: {shown}', severity, remedy)


def _check_extension(cinder: Any, url: str) -> Finding:
    """Check that the service at a URL has loaded the API extension."""
    subject = f'running API extension, {url}'
    try:
        extensions = _get(cinder, '/extensions', endpoint_override=url)
    except Exception as error:
        return findings.warning(
            subject,
            f'not asked: {type(error).__name__}: {error}',
            'Run the check on a host that reaches this endpoint. A URL of '
            '--api-endpoint must contain the version, such as '
            'http://192.0.2.11:8776/v3.',
        )
    if definitions.ALIAS in {
        each['alias'] for each in extensions['extensions']
    }:
        return Finding(subject, definitions.ALIAS)
    return findings.error(
        subject,
        f'{definitions.ALIAS} is not among the extensions of this cinder-api',
        'Set osapi_volume_extension in every cinder-api service and restart '
        'it. Until then, tenants can store keys that were not checked.',
    )


def data_pools(types: Iterable[VolumeType]) -> dict[str, set[str]]:
    """Return the data pools of volume types, by the names of back ends."""
    by_backend: dict[str, set[str]] = {}
    for each in types:
        pool = each.specs.get(keys.DATA_POOL)
        backend = each.specs.get(_BACKEND_NAME)
        if pool and backend:
            by_backend.setdefault(backend, set()).add(pool)
    return by_backend


def _get(cinder: Any, path: str, **how: Any) -> dict[str, Any]:
    return answers.record(cinder.get(path, **how))
