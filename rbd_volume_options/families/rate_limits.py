# SPDX-License-Identifier: Apache-2.0

"""The options about limits on reads and writes."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import sizes

Phrase = phrases.Phrase

SET_LIMITS = definitions.Policy(
    'limits',
    'Set or change the limits on reads and writes of a volume',
)

_LIMITED = {
    'iops': Phrase('requests'),
    'read_iops': Phrase('read requests'),
    'write_iops': Phrase('write requests'),
    'bps': Phrase('bytes'),
    'read_bps': Phrase('bytes read'),
    'write_bps': Phrase('bytes written'),
}

_MAX_BURST_SECONDS = 86400


def _number(key: str, maximum: int, is_size: bool) -> Callable[[str], int]:
    """Return the parser of a number from 1, with a unit if it is a size."""
    parse_number = sizes.parse_size if is_size else sizes.parse_count

    def parse(value: str) -> int:
        number = parse_number(key, value)
        if not 1 <= number <= maximum:
            raise errors.OptionError(
                key,
                value,
                Phrase('out of range'),
                Phrase('1 to {maximum}', maximum=maximum),
            )
        return number

    return parse


def _of_limit(
    each: keys.LimitKeys,
    key: str,
    maximum: int = 0,
    minimum: int = 1,
    **more: Any,
) -> definitions.Option:
    """Return an option about a limit on reads and writes.

    :param minimum: what the owner of a volume may choose at least
    """
    is_size = each.name.endswith('bps') and not maximum
    maximum = maximum or each.largest
    return definitions.Option(
        key=key,
        value_type=definitions.ValueType.COUNT,
        parse=_number(key, maximum, is_size),
        conf_type=definitions.RATE if is_size else 'count',
        family=each.name,
        fixed=False,
        takes_effect=Phrase('within seconds'),
        bounds={'minimum': minimum, 'maximum': maximum},
        **more,
    )


def _limit_options(each: keys.LimitKeys) -> Iterator[definitions.Option]:
    """Yield the options about one limit on reads and writes."""
    what = _LIMITED[each.name]
    unit = ' A number, or with a unit (100M).' * each.name.endswith('bps')
    of_volume: dict[str, Any] = {
        'kind': definitions.Kind.IMAGE_CONFIGURATION,
        'policy': SET_LIMITS,
        'attribute': definitions.ATTRIBUTE_LIMITS,
        'is_item': True,
    }
    of_type: dict[str, Any] = {
        'kind': definitions.Kind.LIMIT_RULE,
        'scopes': frozenset({keys.Scope.TYPE}),
    }
    least = sizes.format_size(each.smallest) if unit else each.smallest
    yield _of_limit(
        each,
        each.limit,
        minimum=each.smallest,
        title=Phrase('Maximum of {what} per second', what=what),
        summary=Phrase('maximum of {what} per second', what=what),
        description=(
            f'Maximum of {what} per second, for each client.{unit} In volume '
            f'metadata, at least {least}, or the minimum of the volume type.'
        ),
        when_to_use=Phrase(
            'Limits how much of the storage a volume can use, such as that of '
            'a backup or of a test system.'
        ),
        conf_help=(
            f'Default maximum of {what} per second of volumes, for each '
            f'client.{unit} The metadata and the type of a volume override it '
            f'with {each.limit}. If unset, volumes have no limit.'
        ),
        unset=Phrase('Default: no limit, unless the volume type has one'),
        item=f'rbd_qos_{each.name}_limit',
        rules={
            'minimum': each.minimum,
            'maximum': each.maximum,
            'per_gib': each.per_gib,
            'per_gib_minimum': each.minimum,
        },
        **of_volume,
    )
    yield _of_limit(
        each,
        each.burst,
        title=Phrase('Maximum of {what} per second in a burst', what=what),
        summary=Phrase('maximum of {what} per second in a burst', what=what),
        description=(
            f'Maximum of {what} per second in a burst, at least '
            f'{each.limit}.{unit}'
        ),
        when_to_use=Phrase(
            'Allows more than the limit for a short time, after a time with '
            'less load.'
        ),
        conf_help=(
            f'Default maximum of {what} per second of volumes in a burst. At '
            f'least the limit.{unit} The metadata and the type of a volume '
            f'override it with {each.burst}.'
        ),
        unset=Phrase('Default: no burst'),
        item=f'rbd_qos_{each.name}_burst',
        rules={'maximum': each.maximum},
        **of_volume,
    )
    yield _of_limit(
        each,
        each.burst_seconds,
        _MAX_BURST_SECONDS,
        title=Phrase('Seconds of a burst of {what}', what=what),
        summary=Phrase('seconds of a burst of {what}', what=what),
        description=(
            f'How long a burst of {what} can last, in seconds, after enough '
            'time without load. 1 by default.'
        ),
        when_to_use=Phrase('How long a burst can last.'),
        conf_help=(
            f'Default length of a burst of {what}, in seconds. The metadata '
            f'and the type of a volume override it with {each.burst_seconds}.'
        ),
        unset=Phrase('Default: 1 second'),
        item=f'rbd_qos_{each.name}_burst_seconds',
        **of_volume,
    )
    yield _of_limit(
        each,
        each.per_gib,
        title=Phrase('Maximum of {what} per second and GiB', what=what),
        summary=Phrase(
            'maximum of {what} per second for each GiB of a volume', what=what
        ),
        description=(
            f'In volume types only: the maximum of {what} per second for each '
            f'GiB of a volume, computed again when it is extended.{unit}'
        ),
        **of_type,
    )
    yield _of_limit(
        each,
        each.minimum,
        title=Phrase('Smallest maximum of {what} per second', what=what),
        summary=Phrase(
            'smallest maximum of {what} per second that follows from the size',
            what=what,
        ),
        description=(
            f'In volume types only: the smallest maximum of {what} per second '
            f'that follows from {each.per_gib}.{unit}'
        ),
        **of_type,
    )
    yield _of_limit(
        each,
        each.maximum,
        title=Phrase('Largest maximum of {what} per second', what=what),
        summary=Phrase(
            'largest maximum of {what} per second of a volume', what=what
        ),
        description=(
            f'In volume types only: the largest {each.limit} and '
            f'{each.burst} that a volume can have. It is the limit of volumes '
            f'without one.{unit}'
        ),
        **of_type,
    )


OPTIONS = tuple(
    option
    for limit_keys in keys.LIMITS
    for option in _limit_options(limit_keys)
)
