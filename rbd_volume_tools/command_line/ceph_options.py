# SPDX-License-Identifier: Apache-2.0

"""Ceph options of a client that defeat cache modes, limits or locks."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import shlex

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.command_line import findings

#: The options of librbd that limit reads and writes, and their defaults.
_LIMITS = {
    registry.OPTIONS[key].item: default
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


@dataclasses.dataclass(frozen=True)
class _Rule:
    """Values of options that an operator should look at.

    :ivar names: options, of which one finding names the first with such a
        value
    :ivar applies: returns whether a value, empty if unknown, is such a value
    """

    names: tuple[str, ...]
    applies: Callable[[str], bool]
    remedy: str
    severity: Severity = Severity.WARNING


def _is(*texts: str) -> Callable[[str], bool]:
    return lambda text: text in texts


def _is_not(*texts: str) -> Callable[[str], bool]:
    return lambda text: text not in ('', *texts)


def _is_zero(text: str) -> bool:
    return number({'': text}, '', 1) == 0


def _lacks_lock(text: str) -> bool:
    """Return whether default features, a mask or names, lack the lock."""
    try:
        mask = int(text or features.to_mask({features.EXCLUSIVE_LOCK}))
        names = features.from_mask(mask)
    except ValueError:
        names = frozenset(each.strip() for each in text.split(','))
    return features.EXCLUSIVE_LOCK not in names


_RULES = (
    _Rule(
        ('rbd_blocklist_expire_seconds',),
        lambda text: number({'': text}, '', 0) != 0,
        'Remove the option. A host that comes back after this time can write '
        'to images whose exclusive lock another host has taken meanwhile.',
    ),
    _Rule(
        ('rbd_blocklist_on_break_lock',),
        _is('false'),
        'Remove the option. A host that lost its connection can write to '
        'images whose exclusive lock another host has taken meanwhile.',
    ),
    _Rule(
        ('rbd_default_features',),
        _lacks_lock,
        'Remove the option. New images have no exclusive lock and no object '
        'map unless their volume type requests one, so that Ceph does not '
        'keep two hosts from writing to the same image.',
    ),
    _Rule(
        (_CACHE,),
        _is('false'),
        'Remove the option. Clients other than QEMU, such as cinder-volume, '
        'write without a cache. QEMU sets it by the cache mode of each disk.',
        Severity.NOTICE,
    ),
    _Rule(
        ('rbd_cache_policy',),
        _is('writethrough'),
        'Remove the option. With it, cache mode writeback is as slow as '
        'writethrough.',
    ),
    _Rule(
        ('rbd_cache_size', 'rbd_cache_max_dirty'),
        _is_zero,
        'Remove the option. With it, cache mode writeback is as slow as '
        'writethrough.',
    ),
    _Rule(
        ('rbd_cache_writethrough_until_flush',),
        _is('false'),
        'Remove the option. A guest that sends no flushes loses data if the '
        'host fails, and cache mode unsafe loses data in a live migration.',
    ),
    _Rule(
        ('ms_client_mode',),
        lambda text: text.startswith('secure'),
        'Encryption costs about 30 % of the random reads that one guest can '
        'do. Use crc if the network is trusted.',
        Severity.NOTICE,
    ),
    _Rule(
        ('rbd_read_from_replica_policy',),
        _is_not('default'),
        'Remove the option. An OSD that meets a media error while it serves '
        'such a read stops (https://tracker.ceph.com/issues/76957).',
    ),
    _Rule(
        (_EXCLUDED,),
        _is_not('0'),
        'Remove the option. Limits on reads and writes do not apply to these '
        'requests.',
    ),
)


def check(subject: str, values: Values) -> Iterator[Finding]:
    """Check the options of a client.

    :param subject: file and user
    :param values: by the names of the options; without unknown options
    """
    problems = [
        *(_named(subject, values, rule) for rule in _RULES),
        _timeout(subject, values),
        _limits(subject, values),
    ]
    findings_of_client = [each for each in problems if each]
    yield from findings_of_client
    if not findings_of_client:
        yield Finding(f'Ceph options of {subject}', 'as expected')


def _seen(values: Values, name: str) -> str:
    return f'{name} = {values.get(name, "")}'


def _named(subject: str, values: Values, rule: _Rule) -> Finding | None:
    for name in rule.names:
        if rule.applies(values.get(name, '')):
            seen = _seen(values, name)
            return Finding(subject, seen, rule.severity, rule.remedy)
    return None


def _timeout(subject: str, values: Values) -> Finding | None:
    name = 'rados_osd_op_timeout'
    seconds = number(values, name, 0)
    if seconds <= 0:
        return None
    grace = number(values, 'osd_heartbeat_grace', HEARTBEAT_GRACE)
    if seconds <= grace:
        return findings.warning(
            subject,
            f'{_seen(values, name)}, osd_heartbeat_grace = {grace:g}',
            'Remove the option, or set more than osd_heartbeat_grace. '
            'Requests of guests fail whenever an OSD fails, before Ceph marks '
            'it down.',
        )
    return findings.notice(
        subject,
        _seen(values, name),
        'Requests of guests fail after this time instead of waiting for Ceph.',
    )


def _limits(subject: str, values: Values) -> Finding | None:
    changed = [
        name
        for name, default in _LIMITS.items()
        if values.get(name, '') not in ('', '0', default)
    ]
    if not changed:
        return None
    return findings.warning(
        subject,
        ', '.join(_seen(values, name) for name in changed),
        'Remove the options, and set limits in volume types. They apply to '
        'all images, where a volume does not set the same option: a burst '
        'lets volumes exceed their limits, and a limit slows down backups and '
        'copies.',
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
        # Any client of the pool can write such a name.
        words = shlex.join(('rbd', 'config', 'pool', 'remove', pool, name))
        yield findings.warning(
            f'Ceph pool {pool}',
            f'{name} = {value}',
            f'Remove it: {words}. {effect}',
        )
