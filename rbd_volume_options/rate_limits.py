# SPDX-License-Identifier: Apache-2.0

"""The limits on reads and writes of a volume, from its keys and its size.

librbd applies them to each client of the image. A burst below its limit is
ignored by librbd, with a line in the log of the client only.
"""

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import re
from typing import Any
from typing import NamedTuple

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry
from rbd_volume_options import sizes

#: Bytes per second of an upload without a limit, about, and the seconds from
#: which on a limit is slow that delays it. They are those of 59 GiB of data.
UPLOADED = 100 << 20
MOST_DELAY = 600.0
#: The same for a limit that makes the upload this number of times as long: a
#: small volume must not hold a thread almost as long as a large one.
MOST_DELAY_OF_SMALL = 60.0
MOST_TIMES = 5

#: Bytes of one read or byte that a limit allows an upload: ``rbd export``
#: reads one object at a time, which by default has at least 64 KiB.
UPLOAD = {'iops': 64 << 10, 'read_iops': 64 << 10, 'bps': 1, 'read_bps': 1}

#: The same for a re-image, which writes at least 1 MiB at a time.
REIMAGE = {'iops': 1 << 20, 'write_iops': 1 << 20, 'bps': 1, 'write_bps': 1}

#: The same for a copy by Cinder to a volume that gets the same limits.
COPY = {**REIMAGE, 'read_iops': 1 << 20, 'read_bps': 1}

#: The limits in QoS specs of Cinder, by the name of the limit.
_QOS_SPECS = {
    f'{prefix}{what}': f'{direction}_{word}_sec'
    for what, word in (('iops', 'iops'), ('bps', 'bytes'))
    for prefix, direction in (
        ('', 'total'),
        ('read_', 'read'),
        ('write_', 'write'),
    )
}
_POWERS = 'KMGTPE'


class _Limit(NamedTuple):
    """A limit that is in force.

    :ivar origin: where it was set; None if it follows from the size or from
        the maximum of the volume type
    :ivar largest: what the owner of the volume may choose at most
    """

    value: int
    origin: errors.Origin | None
    largest: int


def limited_by(names: Collection[str]) -> list[keys.LimitKeys]:
    """Return the limits that keys of a volume replace."""
    return [
        rate
        for rate in keys.LIMITS
        if not {rate.limit, rate.burst}.isdisjoint(names)
    ]


def maxima_of(
    qos_specs: Mapping[str, Any],
    specs: Mapping[str, str],
    names: Collection[str],
) -> dict[str, str]:
    """Return the maxima, by key, that QoS specs set for keys of a volume.

    A type that has a maximum, or from which the maximum follows, sets another
    one. A limit that it has itself stays possible.

    :param specs: the extra specs of the type
    :param names: the keys of the volume
    """
    maxima = {}
    for rate in limited_by(names):
        value = number_of_ceph(qos_specs.get(_QOS_SPECS[rate.name]))
        if value and not {rate.maximum, rate.per_gib} & specs.keys():
            with contextlib.suppress(errors.OptionError, KeyError):
                parse = registry.OPTIONS[rate.limit].parse
                value = max(value, parse(specs[rate.limit]))
            maxima[rate.maximum] = str(min(value, rate.largest))
    return maxima


def number_of_ceph(value: object) -> int:
    """Return a number as Ceph reads it, such as 2K; 0 for another value."""
    match = re.fullmatch(
        r'\s*\+?(\d+)\s*([KMGTPE]?)(i?)B?\s*', str(value), re.ASCII
    )
    if match is None:
        return 0
    power = _POWERS.index(match[2]) + 1 if match[2] else 0
    unit: int = (1024 if match[3] else 1000) ** power
    return int(match[1]) * unit


def limits_of(
    values: options.Values, size: int, is_accepted: bool = False
) -> dict[str, int]:
    """Return the limits, the bursts and their lengths, by key.

    :param values: the values in force
    :param size: size of the volume in bytes
    :param is_accepted: whether the volume exists: a value out of the range of
        its type becomes the nearest one, because a volume whose limit was
        ignored would have none
    :raises OptionError: for values that contradict each other, or that the
        volume type does not allow
    """
    made = {}
    for rate in keys.LIMITS:
        limit = _limit(rate, values, size // sizes.GIB or 1, is_accepted)
        if limit:
            made[rate.limit] = limit.value
        burst = _burst(rate, values, limit, is_accepted)
        seconds = values.choice(rate.burst_seconds)
        if burst:
            made[rate.burst] = burst
            if seconds:
                made[rate.burst_seconds] = seconds.value
        elif seconds and rate.burst not in values:
            _check_default(rate.burst_seconds, seconds, rate.burst)
    return made


def _limit(
    rate: keys.LimitKeys, values: options.Values, gib: int, is_accepted: bool
) -> _Limit | None:
    limit, per_gib = values.choice(rate.limit), values.choice(rate.per_gib)
    minimum, maximum = values.choice(rate.minimum), values.choice(rate.maximum)
    if minimum and not per_gib:
        _check_default(rate.minimum, minimum, rate.per_gib)
    if limit and per_gib and limit.origin is per_gib.origin:
        raise errors.OptionError(
            rate.per_gib,
            per_gib.value,
            phrases.Phrase('set together with {key}', key=rate.limit),
            phrases.Phrase('one of the two'),
            per_gib.origin,
        )
    largest: int = maximum.value if maximum else rate.largest
    if per_gib:
        derived = max(per_gib.value * gib, minimum.value if minimum else 0)
        derived = min(derived, largest)
        # Without a maximum, an owner may only choose less than the size of the
        # volume gives.
        largest = largest if maximum else derived
        if not limit or per_gib.origin < limit.origin:
            return _Limit(derived, None, largest)
    if limit:
        smallest = minimum.value if minimum else rate.smallest
        value = _within(rate.limit, limit, smallest, largest, is_accepted)
        return _Limit(value, limit.origin, largest)
    return _Limit(largest, None, largest) if maximum else None


def _burst(
    rate: keys.LimitKeys,
    values: options.Values,
    limit: _Limit | None,
    is_accepted: bool,
) -> int | None:
    """Return the burst; None without one.

    A burst of a lower precedence than the limit, or below a limit that follows
    from the size, does not contradict it: the volume then has no burst.
    """
    burst = values.choice(rate.burst)
    if burst is None:
        return None
    if limit is None:
        _check_default(rate.burst, burst, rate.limit)
        return None
    maximum = values.choice(rate.maximum)
    largest = maximum.value if maximum else rate.largest
    if burst.origin is errors.Origin.VOLUME_METADATA:
        largest = limit.largest
    value = _within(rate.burst, burst, 1, largest, is_accepted)
    if value >= limit.value:
        return value
    if limit.origin is None or burst.origin > limit.origin or is_accepted:
        return None
    raise errors.OptionError(
        rate.burst,
        burst.value,
        phrases.Phrase(
            'less than {key} = {limit}', key=rate.limit, limit=limit.value
        ),
        phrases.Phrase('{limit} or more', limit=limit.value),
        burst.origin,
    )


def _within(
    key: str,
    choice: options.Choice,
    smallest: int,
    largest: int,
    is_accepted: bool,
) -> int:
    """Return a value; a default of the back end is at most the largest.

    :param smallest: what the owner of a volume may choose at least
    :raises OptionError: for another value out of range
    """
    value: int = choice.value
    if _is_default(choice):
        return min(value, largest)
    if choice.origin is not errors.Origin.VOLUME_METADATA:
        smallest = 1
    smallest = min(smallest, largest)
    if smallest <= value <= largest:
        return value
    if is_accepted and choice.origin is errors.Origin.VOLUME_METADATA:
        return max(smallest, min(value, largest))
    raise errors.OptionError(
        key,
        value,
        phrases.Phrase('more than the volume type allows')
        if value > largest
        else phrases.Phrase('less than the volume type allows'),
        phrases.Phrase(
            '{minimum} to {maximum}', minimum=smallest, maximum=largest
        ),
        choice.origin,
    )


def _is_default(choice: options.Choice) -> bool:
    """Return whether a value is a default, which fits all volumes.

    A type or a volume that it does not suit must not become unusable when an
    operator changes cinder.conf.
    """
    return choice.origin is errors.Origin.BACKEND


def _check_default(key: str, choice: options.Choice, missing: str) -> None:
    """Check that a value that is set without another one is a default."""
    if not _is_default(choice):
        raise errors.OptionError(
            key,
            choice.value,
            phrases.Phrase('set without {key}', key=missing),
            phrases.Phrase('both, or neither of them'),
            choice.origin,
        )


def delaying(
    work: Mapping[str, int],
    size: int,
    limits: Mapping[str, int],
    own: Collection[str],
) -> list[str]:
    """Return the limits of the owner that make a work on all data slow.

    :param work: :data:`UPLOAD`, :data:`REIMAGE` or :data:`COPY`
    :param size: of the volume in bytes
    :param limits: the limits of its image, by key
    :param own: the keys that the owner has set
    """
    rates = {
        rate.limit: limits[rate.limit] * work[rate.name]
        for rate in keys.LIMITS
        if rate.name in work and rate.limit in own and rate.limit in limits
    }
    return [
        key
        for key, rate in rates.items()
        if size / rate - size / UPLOADED
        > (MOST_DELAY_OF_SMALL if rate * MOST_TIMES < UPLOADED else MOST_DELAY)
    ]
