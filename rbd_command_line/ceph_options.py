# SPDX-License-Identifier: Apache-2.0

"""Ceph options of a client that defeat cache modes, limits or locks."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping

from rbd_command_line import findings
from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import keys

#: The options of librbd that limit reads and writes, and their defaults.
_LIMITS = {
    definitions.OPTIONS[key].item: default
    for each in keys.LIMITS
    for key, default in (
        *((each.limit, '0'), (each.burst, '0')),
        (each.burst_seconds, '1'),
    )
}
#: The option of librbd with the kinds of requests that are not limited.
_EXCLUDED = 'rbd_qos_exclude_ops'

#: The Ceph options to read.
NAMES = (
    *_LIMITS,
    _EXCLUDED,
    'rbd_blocklist_expire_seconds',
    'rbd_blocklist_on_break_lock',
    'rbd_cache',
    'rbd_cache_policy',
    'rbd_cache_size',
    'rbd_cache_max_dirty',
    'rbd_cache_writethrough_until_flush',
    'rados_osd_op_timeout',
    'osd_heartbeat_grace',
    'ms_client_mode',
    'rbd_default_features',
    'rbd_read_from_replica_policy',
)
#: Seconds, Ceph's default of osd_heartbeat_grace.
HEARTBEAT_GRACE = 20.0
#: Prefix of the metadata of pools and images that override Ceph's options.
OVERRIDE = 'conf_'
_CACHE = 'rbd_cache'

Finding = findings.Finding
Severity = findings.Severity
Values = Mapping[str, str]


def number(values: Values, name: str, default: float) -> float:
    """Return the value of an option as a number."""
    try:
        return float(values[name])
    except (KeyError, ValueError):
        return default


def check(subject: str, values: Values) -> Iterator[Finding]:
    """Check the options of a client.

    :param subject: file and user
    :param values: by the names of the options; without unknown options
    """
    problems = [
        finding
        for rule in (
            *(_blocklist_expiry, _blocklist, _features, _cache),
            *(_policy, _size, _until_flush, _timeout, _messenger),
            *(_replica_reads, _excluded, _limits),
        )
        if (finding := rule(subject, values))
    ]
    yield from problems
    if not problems:
        yield Finding(f'Ceph options of {subject}', 'as expected')


def _seen(values: Values, name: str) -> str:
    return f'{name} = {values.get(name, "")}'


def _blocklist_expiry(subject: str, values: Values) -> Finding | None:
    name = 'rbd_blocklist_expire_seconds'
    if number(values, name, 0) == 0:
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.WARNING,
        'Remove the option. A host that comes back after this time can write '
        'to images whose exclusive lock another host has taken meanwhile.',
    )


def _blocklist(subject: str, values: Values) -> Finding | None:
    name = 'rbd_blocklist_on_break_lock'
    if values.get(name) != 'false':
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.WARNING,
        'Remove the option. A host that lost its connection can write to '
        'images whose exclusive lock another host has taken meanwhile.',
    )


def _replica_reads(subject: str, values: Values) -> Finding | None:
    name = 'rbd_read_from_replica_policy'
    if values.get(name, 'default') in ('', 'default'):
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.WARNING,
        'Remove the option. An OSD that meets a media error while it serves '
        'such a read stops (https://tracker.ceph.com/issues/70909).',
    )


def _excluded(subject: str, values: Values) -> Finding | None:
    if values.get(_EXCLUDED, '') in ('', '0'):
        return None
    return Finding(
        subject,
        _seen(values, _EXCLUDED),
        Severity.WARNING,
        'Remove the option. Limits on reads and writes do not apply to these '
        'requests.',
    )


def _limits(subject: str, values: Values) -> Finding | None:
    there = [
        name
        for name, default in _LIMITS.items()
        if values.get(name, '') not in ('', '0', default)
    ]
    if not there:
        return None
    return Finding(
        subject,
        ', '.join(_seen(values, name) for name in there),
        Severity.WARNING,
        'Remove the options, and set limits in volume types. They apply to '
        'all images, where a volume does not set the same option: a burst '
        'lets volumes exceed their limits, and a limit slows down backups and '
        'copies.',
    )


def _features(subject: str, values: Values) -> Finding | None:
    name = 'rbd_default_features'
    configured = values.get(name, '')
    try:
        mask = int(configured or features.to_mask({features.EXCLUSIVE_LOCK}))
        there = features.from_mask(mask)
    except ValueError:
        there = frozenset(each.strip() for each in configured.split(','))
    if features.EXCLUSIVE_LOCK in there:
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.WARNING,
        'Remove the option. New images have no exclusive lock and no object '
        'map unless their volume type requests one, so that Ceph does not '
        'keep two hosts from writing to the same image.',
    )


def _cache(subject: str, values: Values) -> Finding | None:
    if values.get(_CACHE) != 'false':
        return None
    return Finding(
        subject,
        _seen(values, _CACHE),
        Severity.NOTICE,
        'Remove the option. Clients other than QEMU, such as cinder-volume, '
        'write without a cache. QEMU sets it by the cache mode of each disk.',
    )


def _policy(subject: str, values: Values) -> Finding | None:
    if values.get('rbd_cache_policy') != 'writethrough':
        return None
    return Finding(
        subject,
        _seen(values, 'rbd_cache_policy'),
        Severity.WARNING,
        'Remove the option. With it, cache mode writeback is as slow as '
        'writethrough.',
    )


def _size(subject: str, values: Values) -> Finding | None:
    for name in ('rbd_cache_size', 'rbd_cache_max_dirty'):
        if number(values, name, 1) == 0:
            return Finding(
                subject,
                _seen(values, name),
                Severity.WARNING,
                'Remove the option. With it, cache mode writeback is as slow '
                'as writethrough.',
            )
    return None


def _until_flush(subject: str, values: Values) -> Finding | None:
    name = 'rbd_cache_writethrough_until_flush'
    if values.get(name) != 'false':
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.WARNING,
        'Remove the option. A guest that sends no flushes loses data if the '
        'host fails, and cache mode unsafe loses data in a live migration.',
    )


def _timeout(subject: str, values: Values) -> Finding | None:
    name = 'rados_osd_op_timeout'
    seconds = number(values, name, 0)
    if seconds <= 0:
        return None
    grace = number(values, 'osd_heartbeat_grace', HEARTBEAT_GRACE)
    if seconds <= grace:
        return Finding(
            subject,
            f'{_seen(values, name)}, osd_heartbeat_grace = {grace:g}',
            Severity.WARNING,
            'Remove the option, or set more than osd_heartbeat_grace. '
            'Requests of guests fail whenever an OSD fails, before Ceph marks '
            'it down.',
        )
    return Finding(
        subject,
        _seen(values, name),
        Severity.NOTICE,
        'Requests of guests fail after this time instead of waiting for Ceph.',
    )


def _messenger(subject: str, values: Values) -> Finding | None:
    name = 'ms_client_mode'
    if not values.get(name, '').startswith('secure'):
        return None
    return Finding(
        subject,
        _seen(values, name),
        Severity.NOTICE,
        'Encryption costs about 30 % of the random reads that one guest can '
        'do. Use crc if the network is trusted.',
    )


def overrides(
    pool: str, metadata: Callable[[], Mapping[str, str]]
) -> Iterator[Finding]:
    """Check the options that a pool overrides.

    :param metadata: reads the metadata of the pool
    """
    for key, value in sorted(metadata().items()):
        name = key.removeprefix(OVERRIDE)
        if not key.startswith(OVERRIDE):
            continue
        if name.startswith(_CACHE):
            effect = 'It overrides the cache modes of all images in the pool.'
        elif name == _EXCLUDED or name in _LIMITS:
            effect = (
                'It applies to all images in the pool whose volumes do not '
                'set the same option, and can let them exceed their limits.'
            )
        else:
            continue
        yield Finding(
            f'Ceph pool {pool}',
            f'{name} = {value}',
            Severity.WARNING,
            f'Remove it: rbd config pool remove {pool} {name}. {effect}',
        )
