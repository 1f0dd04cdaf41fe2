# SPDX-License-Identifier: Apache-2.0

"""The options: one definition with everything that any layer asks about it.

Each layer (checks, discovery, attributes, the record, options of cinder.conf,
capabilities, policies, commands, forms, metadata definitions, documentation)
iterates over :data:`OPTIONS`. A layer may depend on the :class:`Kind` of an
option, but not on its name.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import functools
from typing import Any

from rbd_volume_options import cache_modes
from rbd_volume_options import discard_granularity
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import lists
from rbd_volume_options import phrases
from rbd_volume_options import sector_sizes
from rbd_volume_options import sizes
from rbd_volume_options import wire

Phrase = phrases.Phrase
Scope = keys.Scope


class Kind(enum.Enum):
    """What an option acts on.

    The options of the first three kinds depend on each other, and the rules
    between them are in modules of their own (:mod:`.layout`,
    :mod:`.features`). An option of another kind is plain: its values depend
    on no other option.
    """

    LAYOUT = 'layout of the RBD image'
    FEATURES = 'features of the RBD image'
    DATA_POOL = 'pool of the data'
    #: An item of ``connection_info['data']``, set for each attachment.
    CONNECTION = 'connection of an attachment'
    #: Configuration in the metadata of the RBD image: ``conf_<item>``.
    IMAGE_CONFIGURATION = 'configuration of the RBD image'
    #: A rule about a limit on reads and writes, in volume types only.
    LIMIT_RULE = 'rule about a limit on reads and writes'
    #: A property of the disk on which the data of the volume depends. It is
    #: recorded at creation, and only a source volume can set it for a clone.
    DISK = 'disk in the server'
    #: What the firmware of the servers that use a volume type can do.
    FIRMWARE = 'firmware of servers'
    #: The list of the keys that tenants may set.
    TENANTS = 'keys that tenants may set'


class ValueType(enum.Enum):
    """The form of a value in responses, which decides on its form field."""

    SIZE = 'size'
    COUNT = 'count'
    BOOLEAN = 'boolean'
    FEATURES = 'features'
    WORD = 'word'
    POOL = 'pool'
    KEYS = 'keys'


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy for keys in the metadata of volumes.

    :ivar action: what it allows; the keys follow
    """

    name: str
    action: str


@dataclasses.dataclass(frozen=True)
class AllowedValues:
    """An option of cinder.conf with the values that a back end allows.

    :ivar option: its name, and that of the capability
    :ivar default: the values that are allowed by default
    :ivar parse: parses the comma-separated list
    """

    option: str
    default: tuple[Any, ...]
    parse: Callable[[str], tuple[Any, ...]]
    conf_help: str


_DEFAULT = Phrase('Default')
_RATE = 'bytes per second'


@dataclasses.dataclass(frozen=True)
class Option:
    """An option.

    :ivar key: the key, including the prefix
    :ivar title: the label of form fields
    :ivar summary: a description in one line, without a full stop
    :ivar description: the allowed values and the effect, as one or two
        sentences for the metadata definitions
    :ivar when_to_use: advice for forms and documentation
    :ivar parse: returns the value of a text; raises ``OptionError``
    :ivar conf_type: what a value is, for samples of cinder.conf
    :ivar conf_help: help text of the option of cinder.conf; empty if there is
        none
    :ivar conf_name: the option of cinder.conf that sets the default of the
        back end. The driver reports its value to the scheduler, as a
        capability of the same name.
    :ivar policy: the policy that a caller needs to set the key on a volume;
        None for a key that is not allowed in volume metadata
    :ivar scopes: where the key may be set
    :ivar attribute: the attribute of the volume that shows the result; None
        if there is none
    :ivar is_item: whether the attribute is an object, which shows the options
        that are set by their names
    :ivar unset: the effect if no key or option is set, for forms
    :ivar fixed: whether the key is fixed at creation of the volume
    :ivar takes_effect: when a change of a changeable key is in force
    :ivar partner: the key that must be set together with this one
    :ivar family: name of the keys that are dropped together, because they
        belong together or can contradict each other
    :ivar inherited: whether a volume made from a volume or a snapshot has the
        value of its source
    :ivar item: the item of the connection or of the image's configuration
    :ivar for_layout: returns the value for the layout of an image, which is
        None if unknown; None for no value
    :ivar connection_items: returns the items of ``connection_info['data']``
        for a value
    :ivar offered: whether a compute host must offer the value, so that an
        attachment can be refused because of it
    :ivar needs_plug_in: whether the connection has the items only on compute
        hosts with the Nova plug-in, because stock Nova ignores them
    :ivar choices: all values, each with an explanation that fits beside it
        into a list of a form; empty if there is no complete list
    :ivar suggestions: typical values, for volume types
    :ivar allowed: the values that a back end allows, if it can restrict them
    :ivar shared_value: the only value for a multi-attach type; None if such
        types do not restrict the option
    :ivar shared_reason: why
    :ivar bounds: the bounds in responses that no back end changes
    :ivar rules: the keys of volume types with a rule about the value, by field
        of responses
    :ivar narrowed: returns the bounds of back ends and of a multi-attach type
    :ivar invalid: a text that is refused, whose error says what is allowed
    """

    key: str
    kind: Kind
    value_type: ValueType
    title: Phrase
    summary: Phrase
    description: str
    parse: Callable[[str], Any]
    conf_type: str
    conf_help: str = ''
    policy: Policy | None = None
    scopes: frozenset[Scope] = frozenset({Scope.VOLUME, Scope.TYPE})
    when_to_use: Phrase | None = None
    conf_name: str = ''
    attribute: str | None = None
    is_item: bool = False
    unset: Phrase = _DEFAULT
    fixed: bool = True
    takes_effect: str = ''
    partner: str | None = None
    family: str = ''
    inherited: bool = False
    item: str = ''
    for_layout: Callable[[Any, layout.ImageLayout | None], Any] = (
        lambda value, image_layout: value
    )
    connection_items: Callable[[Any], dict[str, Any]] = lambda value: {}
    offered: bool = False
    needs_plug_in: bool = False
    choices: Mapping[str, Phrase] = dataclasses.field(
        default_factory=dict, hash=False
    )
    suggestions: tuple[str, ...] = ()
    allowed: AllowedValues | None = None
    shared_value: Any = None
    shared_reason: Phrase | None = None
    bounds: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, hash=False
    )
    rules: Mapping[str, str] = dataclasses.field(
        default_factory=dict, hash=False
    )
    narrowed: Callable[[Sequence[limits.Limits], bool], dict[str, Any]] = (
        lambda bounds, multiattach: {}
    )
    invalid: str = '\0'

    def __post_init__(self) -> None:
        if not self.conf_name:
            name = f'rbd_volume_{self.name}'
            object.__setattr__(self, 'conf_name', name)
        if not self.family:
            object.__setattr__(self, 'family', self.name)

    @property
    def name(self) -> str:
        """The key without its prefix."""
        return self.key.removeprefix(keys.PREFIX)

    @property
    def sentence(self) -> str:
        """The summary, for a help text: with a capital letter."""
        return f'{self.summary[0].upper()}{self.summary[1:]}'

    @property
    def is_rate(self) -> bool:
        """Whether its values are numbers of bytes per second."""
        return self.conf_type == _RATE

    @property
    def is_plain(self) -> bool:
        """Whether its values depend on no other option."""
        return self.kind not in (
            Kind.LAYOUT,
            Kind.FEATURES,
            Kind.DATA_POOL,
            Kind.FIRMWARE,
            Kind.TENANTS,
        )

    @property
    def is_rarely_set(self) -> bool:
        """Whether back ends and commands show it only if it is set."""
        return self.kind in (
            Kind.IMAGE_CONFIGURATION,
            Kind.DISK,
            Kind.FIRMWARE,
        ) or (self.kind is Kind.CONNECTION and not self.offered)

    def allowed_values(self, bounds: limits.Limits) -> tuple[Any, ...] | None:
        """Return the values that a back end allows; None if all of them."""
        if self.allowed is None:
            return None
        allowed: tuple[Any, ...] = bounds.allowed.get(
            self.key, self.allowed.default
        )
        return allowed

    def bounds_of(
        self, backends: Sequence[limits.Limits], multiattach: bool
    ) -> dict[str, Any]:
        """Return the bounds in the response for a volume type.

        :param backends: the limits of the back ends of the type
        """
        bounds = {**self.bounds, **self.narrowed(backends, multiattach)}
        if self.value_type is ValueType.WORD:
            values = [self.parse(choice) for choice in self.choices]
            for each in backends:
                allowed = self.allowed_values(each)
                values = [v for v in values if allowed is None or v in allowed]
            if multiattach and self.shared_value is not None:
                values = [v for v in values if v == self.shared_value]
            bounds['allowed'] = [as_json(value) for value in values]
        return bounds


def as_json(value: Any) -> Any:
    """Return a parsed value as responses have it."""
    if isinstance(value, enum.Enum):
        return value.value
    return sorted(value) if isinstance(value, frozenset) else value


def as_text(value: Any) -> str:
    """Return the canonical text of a parsed value."""
    plain = as_json(value)
    if isinstance(plain, bool):
        return str(plain).lower()
    return ','.join(plain) if isinstance(plain, list) else str(plain)


def as_capability(value: Any) -> Any:
    """Return a parsed value as the report of a back end has it.

    Filters of the scheduler compare numbers, booleans and texts.
    """
    plain = as_json(value)
    return as_text(value) if isinstance(plain, list) else plain


def _size_bounds(smallest: int) -> dict[str, Any]:
    return {
        wire.POWER_OF_TWO: True,
        'minimum': smallest,
        'maximum': layout.MAX_OBJECT_SIZE,
    }


def _object_size_bounds(
    backends: Sequence[limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {
        'minimum': max(each.min_object_size for each in backends),
        wire.MAXIMUM_OBJECTS: min(each.max_objects for each in backends),
    }


def _stripe_count_bounds(
    backends: Sequence[limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {'maximum': min(each.max_stripe_count for each in backends)}


def _object_map_bounds(
    backends: Sequence[limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {'allowed': [False] if multiattach else [False, True]}


def _features_bounds(
    backends: Sequence[limits.Limits], multiattach: bool
) -> dict[str, Any]:
    chosen = features.CHOOSABLE
    if multiattach:
        chosen -= features.SINGLE_CLIENT
    return {
        'allowed': sorted(chosen),
        'requires': {
            name: list(features.FEATURES[name].requires)
            for name in sorted(chosen)
            if features.FEATURES[name].requires
        },
    }


def parse_key_list(value: str) -> frozenset[str]:
    """Return the keys in a list; an empty list allows no keys.

    :raises OptionError: for a name that is not a key of volume metadata
    """
    names = frozenset(lists.split(value)) if value else frozenset[str]()
    for name in sorted(names):
        if name not in volume_keys():
            raise errors.OptionError(
                keys.TENANT_OPTIONS,
                value,
                Phrase(
                    '{name} is not a key that tenants can set',
                    name=errors.shown(name),
                ),
                Phrase(
                    'a comma-separated list of {names}',
                    names=', '.join(volume_keys()),
                ),
            )
    return names


_MAX_POOL_NAME = 128


def parse_pool(value: str) -> str:
    """Return the name of a pool.

    This is stricter than Ceph, because the name is also used on command lines
    and in pool specifications, where ``/``, ``@`` and spaces have a meaning.

    :raises OptionError: for an invalid name
    """
    if (
        not 0 < len(value) <= _MAX_POOL_NAME
        or not value.isascii()
        or not all(c.isalnum() or c in '._-' for c in value)
        or value.startswith('-')
    ):
        raise errors.OptionError(
            keys.DATA_POOL,
            value,
            Phrase('not a valid pool name'),
            Phrase(
                'the name of a pool: up to 128 letters, digits, dots, hyphens '
                'and underscores'
            ),
        )
    return value


def _word(
    key: str, reason: Phrase, words: Sequence[str]
) -> Callable[[str], str]:
    """Return the parser of a key whose values are words."""

    def parse(value: str) -> str:
        if value not in words:
            raise errors.OptionError(key, value, reason, ', '.join(words))
        return value

    return parse


def _powers(first: int, last: int) -> tuple[str, ...]:
    found = []
    while first <= last:
        found.append(sizes.format_size(first).replace(' ', ''))
        first *= 2
    return tuple(found)


SET_LAYOUT = Policy(wire.POLICY_SET_LAYOUT, 'Set the layout of a volume')
SET_FEATURES = Policy(
    wire.POLICY_SET_FEATURES, 'Set the image features of a volume'
)
SET_CACHE_MODE = Policy(
    wire.POLICY_SET_CACHE_MODE,
    'Set or change the cache mode of the attachments of a volume',
)

SET_COMPRESSION_HINT = Policy(
    wire.POLICY_SET_COMPRESSION_HINT,
    'Set or change the compression hint of a volume',
)

SET_LIMITS = Policy(
    wire.POLICY_SET_LIMITS,
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
) -> Option:
    """Return an option about a limit on reads and writes.

    :param minimum: what the owner of a volume may choose at least
    """
    is_size = each.name.endswith('bps') and not maximum
    maximum = maximum or each.largest
    return Option(
        key=key,
        value_type=ValueType.COUNT,
        parse=_number(key, maximum, is_size),
        conf_type=_RATE if is_size else 'count',
        family=each.name,
        fixed=False,
        takes_effect=Phrase('within seconds'),
        bounds={'minimum': minimum, 'maximum': maximum},
        **more,
    )


def _limit_options(each: keys.LimitKeys) -> Iterator[Option]:
    """Yield the options about one limit on reads and writes."""
    what = _LIMITED[each.name]
    unit = ' A number, or with a unit (100M).' * each.name.endswith('bps')
    of_volume: dict[str, Any] = {
        'kind': Kind.IMAGE_CONFIGURATION,
        'policy': SET_LIMITS,
        'attribute': wire.ATTRIBUTE_LIMITS,
        'is_item': True,
    }
    of_type: dict[str, Any] = {
        'kind': Kind.LIMIT_RULE,
        'scopes': frozenset({Scope.TYPE}),
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
            wire.PER_GIB: each.per_gib,
            wire.PER_GIB_MINIMUM: each.minimum,
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


SET_DISCARD = Policy(
    wire.POLICY_SET_DISCARD, 'Set or change whether a volume accepts discards'
)

SET_DISCARD_GRANULARITY = Policy(
    wire.POLICY_SET_DISCARD_GRANULARITY,
    'Set or change the discard granularity of a volume',
)

SET_DETECT_ZEROES = Policy(
    wire.POLICY_SET_DETECT_ZEROES,
    'Set or change how writes of zeros to a volume are treated',
)

_ZEROES = {
    'off': Phrase('zeros are written like other data'),
    'on': Phrase('zeros are not sent to the storage'),
    'unmap': Phrase('zeros free space, as discards do'),
}

SET_SECTOR_SIZE = Policy(
    wire.POLICY_SET_SECTOR_SIZE, 'Set the sector size of a volume'
)

_COMPRESSION_HINTS = {
    'none': Phrase('the mode of the pool decides'),
    'compressible': Phrase('saves space'),
    'incompressible': Phrase('saves processor time'),
}

#: All options, by key, in the order of responses, forms and tables.
OPTIONS: dict[str, Option] = {
    option.key: option
    for option in (
        Option(
            key=keys.OBJECT_SIZE,
            kind=Kind.LAYOUT,
            value_type=ValueType.SIZE,
            title=Phrase('Object size'),
            summary=Phrase('size of the RADOS objects'),
            description=(
                'Size of the RADOS objects: a power of two from 4 KiB to 32 '
                'MiB, in bytes or with a unit (64K, 4M).'
            ),
            when_to_use=Phrase(
                'The volume is stored in objects of this size. Leave the '
                'default, unless clones of the volume change in small '
                'scattered parts: smaller objects then copy less. Larger '
                'objects were not faster in tests.'
            ),
            parse=layout.parse_object_size,
            conf_type='size in bytes',
            conf_help=(
                'Default size of the RADOS objects of volumes, such as 4M. '
                'The metadata and the type of a volume override it with '
                'rbd:object_size. A power of two from 4 KiB to 32 MiB, in '
                'bytes or with a unit. If unset, rbd_store_chunk_size applies.'
            ),
            policy=SET_LAYOUT,
            attribute=wire.ATTRIBUTE_OBJECT_SIZE,
            inherited=True,
            bounds=_size_bounds(layout.MIN_OBJECT_SIZE),
            narrowed=_object_size_bounds,
            suggestions=_powers(64 * sizes.KIB, layout.MAX_OBJECT_SIZE),
            # A size, but not a power of two.
            invalid='3',
        ),
        Option(
            key=keys.STRIPE_UNIT,
            kind=Kind.LAYOUT,
            value_type=ValueType.SIZE,
            title=Phrase('Stripe unit'),
            summary=Phrase('contiguous bytes of a stripe in one object'),
            description=(
                'Contiguous bytes of a stripe in one object: a factor of the '
                'object size, at least 512 bytes, such as 64K. Requires a '
                'stripe count.'
            ),
            when_to_use=Phrase(
                'Contiguous bytes that go to one object before the next '
                'one. Leave the default, unless an application writes many '
                'small blocks in sequence and does not wait for each, such '
                'as the log of a database, and the cluster has many disks. '
                'Other requests become slower: 64 KiB × 8 reached 40 to 74 '
                'percent of the default in tests.'
            ),
            parse=layout.parse_stripe_unit,
            conf_type='size in bytes',
            conf_help=(
                'Default stripe unit of volumes, such as 64K. The metadata '
                'and the type of a volume override it with rbd:stripe_unit. A '
                'factor of the object size, at least 512 bytes. Requires '
                'rbd_volume_stripe_count. If unset, rbd_default_stripe_unit '
                'of ceph.conf or of the pool applies.'
            ),
            policy=SET_LAYOUT,
            attribute=wire.ATTRIBUTE_STRIPE_UNIT,
            partner=keys.STRIPE_COUNT,
            family='striping',
            inherited=True,
            bounds={
                **_size_bounds(layout.MIN_STRIPE_UNIT),
                wire.TOGETHER_WITH: [keys.STRIPE_COUNT],
            },
            suggestions=_powers(4 * sizes.KIB, 4 * sizes.MIB),
            invalid='3',
        ),
        Option(
            key=keys.STRIPE_COUNT,
            kind=Kind.LAYOUT,
            value_type=ValueType.COUNT,
            title=Phrase('Stripe count'),
            summary=Phrase('number of objects in a stripe'),
            description=(
                'Number of objects in a stripe: a whole number from 1 to the '
                'maximum of the back end. Requires a stripe unit.'
            ),
            when_to_use=Phrase(
                'Number of objects that receive stripe units in turn: about'
                ' the number of disks that share the load, often 8 to 16.'
            ),
            parse=layout.parse_stripe_count,
            conf_type='count',
            conf_help=(
                'Default stripe count of volumes. The metadata and the type '
                'of a volume override it with rbd:stripe_count. Requires '
                'rbd_volume_stripe_unit.'
            ),
            policy=SET_LAYOUT,
            attribute=wire.ATTRIBUTE_STRIPE_COUNT,
            partner=keys.STRIPE_UNIT,
            family='striping',
            inherited=True,
            bounds={'minimum': 1, wire.TOGETHER_WITH: [keys.STRIPE_UNIT]},
            narrowed=_stripe_count_bounds,
            suggestions=tuple(str(2**n) for n in range(7)),
        ),
        Option(
            key=keys.OBJECT_MAP,
            kind=Kind.FEATURES,
            value_type=ValueType.BOOLEAN,
            title=Phrase('Object map'),
            summary=Phrase('whether the image has an object map'),
            description=(
                'Whether the image has an object map, with exclusive-lock and '
                'fast-diff, which speeds up deleting and resizing large '
                'volumes. Not allowed for multi-attach volumes.'
            ),
            when_to_use=Phrase(
                'Records which objects exist. Good for large volumes: an '
                'empty one of 1 TiB was deleted in 0.1 seconds instead of '
                '88. Not possible for volumes that several instances '
                'attach.'
            ),
            parse=features.parse_object_map,
            conf_type='boolean value',
            conf_help=(
                'Whether volumes get an object map by default. The metadata '
                'and the type of a volume override it with rbd:object_map. '
                'true adds exclusive-lock, object-map and fast-diff to the '
                'image features, false removes object-map and fast-diff. If '
                'unset, the stock driver decides.'
            ),
            policy=SET_FEATURES,
            family='features',
            inherited=True,
            narrowed=_object_map_bounds,
            suggestions=('true', 'false'),
        ),
        Option(
            key=keys.FEATURES,
            kind=Kind.FEATURES,
            value_type=ValueType.FEATURES,
            title=Phrase('Image features'),
            summary=Phrase('the complete set of image features'),
            description=(
                'The complete set of image features, separated by commas: '
                'layering, exclusive-lock, object-map, fast-diff, '
                'deep-flatten, journaling. layering is required.'
            ),
            when_to_use=Phrase(
                'Replaces the complete set of features. Leave it, unless an'
                ' administrator requests other features.'
            ),
            parse=features.parse_features,
            conf_type='list of image features',
            conf_help=(
                'Default set of image features of volumes, such as '
                'layering,exclusive-lock,object-map,fast-diff. The metadata '
                'and the type of a volume override it with rbd:features. Must '
                'include layering. If unset, rbd_default_features of '
                'ceph.conf applies.'
            ),
            policy=SET_FEATURES,
            attribute=wire.ATTRIBUTE_FEATURES,
            family='features',
            inherited=True,
            bounds={'required': [features.LAYERING]},
            narrowed=_features_bounds,
        ),
        Option(
            key=keys.CACHE_MODE,
            kind=Kind.CONNECTION,
            value_type=ValueType.WORD,
            title=Phrase('Cache mode'),
            summary=Phrase('cache mode of attachments'),
            description=(
                'How the compute host caches reads and writes of the guest.'
            ),
            when_to_use=Phrase(
                'How the compute host caches reads and writes of the instance.'
                ' If the host fails, completed writes are safe with '
                'writethrough and directsync, and flushed data is safe with '
                'none and writeback. With unsafe, data is lost.'
            ),
            parse=cache_modes.parse_cache_mode,
            conf_type='cache mode',
            conf_help=(
                'Default cache mode of attachments. The metadata and the type '
                'of a volume override it with rbd:cache_mode. Must be one of '
                'rbd_allowed_cache_modes. If unset, the compute host decides '
                '([libvirt] disk_cachemodes).'
            ),
            policy=SET_CACHE_MODE,
            attribute=wire.ATTRIBUTE_CACHE_MODES,
            unset=Phrase('Default: set by the compute host'),
            fixed=False,
            takes_effect=Phrase('at the next attachment'),
            item=wire.CONNECTION_CACHE_MODE,
            offered=True,
            choices={
                mode.value: words
                for mode, words in cache_modes.EXPLANATIONS.items()
            },
            suggestions=tuple(m.value for m in cache_modes.SAFE_CACHE_MODES),
            allowed=AllowedValues(
                option=wire.RBD_ALLOWED_CACHE_MODES,
                default=cache_modes.SAFE_CACHE_MODES,
                parse=cache_modes.parse_cache_modes,
                conf_help=(
                    'Comma-separated list of the cache modes that are '
                    'allowed. unsafe ignores the flushes of the guest, and is '
                    'allowed only if it is listed.'
                ),
            ),
            # Several hosts write to the volume.
            shared_value=cache_modes.CacheMode.NONE,
            shared_reason=Phrase(
                'volumes of a multi-attach type can have several writing '
                'clients, whose caches are not coherent'
            ),
        ),
        *(option for each in keys.LIMITS for option in _limit_options(each)),
        Option(
            key=keys.COMPRESSION_HINT,
            kind=Kind.IMAGE_CONFIGURATION,
            value_type=ValueType.WORD,
            title=Phrase('Compression hint'),
            summary=Phrase('whether Ceph should compress the data'),
            description=(
                'Whether Ceph should compress the data that is written from '
                'now on: none, compressible or incompressible. Ignored in '
                'pools with the compression mode none or force, and useless '
                'for encrypted volumes.'
            ),
            when_to_use=Phrase(
                'compressible saves space for text, logs and databases in '
                'pools with mode passive, and takes processor time. '
                'incompressible saves that time for media and archives in '
                'those with aggressive. Useless for encrypted volumes.'
            ),
            parse=_word(
                keys.COMPRESSION_HINT,
                Phrase('not a compression hint'),
                tuple(_COMPRESSION_HINTS),
            ),
            conf_type='compression hint',
            conf_help=(
                'Default compression hint of volumes: none, compressible or '
                'incompressible. The metadata and the type of a volume '
                'override it with rbd:compression_hint. BlueStore compresses '
                'compressible data in pools with compression_mode passive, '
                'and does not compress incompressible data in pools with '
                'aggressive. If unset, images have no hint.'
            ),
            policy=SET_COMPRESSION_HINT,
            attribute=wire.ATTRIBUTE_COMPRESSION_HINT,
            fixed=False,
            takes_effect=Phrase(
                'within seconds, for data that is written afterwards'
            ),
            item='rbd_compression_hint',
            choices=_COMPRESSION_HINTS,
            suggestions=('compressible', 'incompressible'),
        ),
        Option(
            key=keys.DISCARD,
            kind=Kind.CONNECTION,
            value_type=ValueType.BOOLEAN,
            title=Phrase('Discard'),
            summary=Phrase('whether discards of the server free space'),
            description=(
                'Whether discards of the server (fstrim, TRIM) free space in '
                'the cluster. true by default. If false, they succeed and '
                'free nothing.'
            ),
            when_to_use=Phrase(
                'Leave the default. false keeps deleted data in the volume, '
                'so that writes do not allocate space again.'
            ),
            parse=functools.partial(features.parse_boolean, keys.DISCARD),
            conf_type='boolean value',
            conf_help=(
                'Whether discards of servers free space in the cluster, by '
                'default. The metadata and the type of a volume override it '
                'with rbd:discard. If unset, they do.'
            ),
            policy=SET_DISCARD,
            attribute=wire.ATTRIBUTE_DISCARD,
            fixed=False,
            takes_effect=Phrase('at the next attachment'),
            item=wire.CONNECTION_DISCARD,
            connection_items=lambda value: {wire.CONNECTION_DISCARD: value},
            bounds={'allowed': [False, True]},
            suggestions=('true', 'false'),
        ),
        Option(
            key=keys.DISCARD_GRANULARITY,
            kind=Kind.CONNECTION,
            value_type=ValueType.WORD,
            title=Phrase('Discard granularity'),
            summary=Phrase(
                'smallest discard that the disk in the server reports'
            ),
            description=(
                'Smallest discard that the disk in the server reports: layout '
                '(the smallest size that frees an object of the volume) or a '
                'power of two from 4 KiB to 1 GiB. Only on compute hosts with '
                'the Nova plug-in and libvirt 9.7 or later.'
            ),
            when_to_use=Phrase(
                'Leave the default, unless discards of the operating system '
                'fail: Windows 11 requires a larger one than the default. '
                'layout saves discards that free no object.'
            ),
            parse=discard_granularity.parse,
            conf_type='discard granularity',
            conf_help=(
                'Default discard granularity of the disks in servers: layout '
                '(the smallest size that frees an object of the volume) or a '
                'power of two from 4 KiB to 1 GiB. The metadata and the type '
                'of a volume override it with rbd:discard_granularity. '
                'Compute hosts with an older libvirt than 9.7 refuse volumes '
                'with a granularity. If unset, QEMU decides.'
            ),
            policy=SET_DISCARD_GRANULARITY,
            attribute=wire.ATTRIBUTE_DISCARD_GRANULARITY,
            unset=Phrase('Default: set by QEMU'),
            fixed=False,
            takes_effect=Phrase('at the next attachment'),
            item=wire.CONNECTION_DISCARD_GRANULARITY,
            for_layout=discard_granularity.in_bytes,
            connection_items=lambda value: {
                wire.CONNECTION_DISCARD_GRANULARITY: value
            },
            needs_plug_in=True,
            choices=discard_granularity.EXPLANATIONS,
            suggestions=(discard_granularity.OF_LAYOUT, '32KiB', '4MiB'),
        ),
        Option(
            key=keys.DETECT_ZEROES,
            kind=Kind.CONNECTION,
            value_type=ValueType.WORD,
            title=Phrase('Detect zeroes'),
            summary=Phrase('how writes of zeros are treated'),
            description=(
                'Whether QEMU detects zeros in the writes of the server: off, '
                'on (they are not transferred to the storage) or unmap (they '
                'free space, as discards do; with rbd:discard = false, unmap '
                'acts as on). Only on compute hosts with the Nova plug-in.'
            ),
            when_to_use=Phrase(
                'Leave the default. unmap keeps a volume thin if images or '
                'backups with many zeros are written to it, and takes '
                'processor time of the compute host for each write.'
            ),
            parse=_word(
                keys.DETECT_ZEROES,
                Phrase('not a way to treat zeros'),
                tuple(_ZEROES),
            ),
            conf_type='treatment of zeros',
            conf_help=(
                'How writes of zeros by servers are treated, by default: off, '
                'on or unmap. The metadata and the type of a volume override '
                'it with rbd:detect_zeroes. Compute hosts without the Nova '
                'plug-in write zeros like other data. If unset, all do.'
            ),
            policy=SET_DETECT_ZEROES,
            attribute=wire.ATTRIBUTE_DETECT_ZEROES,
            fixed=False,
            takes_effect=Phrase('at the next attachment'),
            item=wire.CONNECTION_DETECT_ZEROES,
            connection_items=lambda value: {
                wire.CONNECTION_DETECT_ZEROES: value
            },
            needs_plug_in=True,
            choices=_ZEROES,
            suggestions=tuple(_ZEROES),
        ),
        Option(
            key=keys.SECTOR_SIZE,
            kind=Kind.DISK,
            value_type=ValueType.WORD,
            title=Phrase('Sector size'),
            summary=Phrase('sector size of the disk in the server'),
            description=(
                'Sector size of the disk in the server: 512, 512e (512 bytes '
                'on physical sectors of 4096 bytes) or 4096. A volume from a '
                'volume or a snapshot has that of its source.'
            ),
            when_to_use=Phrase(
                'Leave the default, unless the operating system or an '
                'application requires another one. With 512e, file systems '
                'and databases write whole blocks of 4096 bytes. 4096 is for '
                'data volumes only: most servers cannot boot from them.'
            ),
            parse=_word(
                keys.SECTOR_SIZE,
                Phrase('not a sector size'),
                tuple(sector_sizes.EXPLANATIONS),
            ),
            conf_type='sector size',
            conf_help=(
                'Default sector size of new volumes: 512, 512e or 4096. The '
                'metadata and the type of a volume override it with '
                'rbd:sector_size. It overrides disk_geometry. The value is '
                'recorded with each volume: a change applies to new volumes '
                'only. Volumes from volumes and snapshots have the sector '
                'size of their source. If unset, disk_geometry applies.'
            ),
            policy=SET_SECTOR_SIZE,
            attribute=wire.ATTRIBUTE_SECTOR_SIZE,
            inherited=True,
            connection_items=sector_sizes.connection_items,
            choices=sector_sizes.EXPLANATIONS,
            suggestions=tuple(sector_sizes.EXPLANATIONS),
        ),
        Option(
            key=keys.BOOT_FROM_4096,
            kind=Kind.FIRMWARE,
            value_type=ValueType.BOOLEAN,
            title=Phrase('Boot from 4096-byte sectors'),
            summary=Phrase(
                'whether servers can boot from sectors of 4096 bytes'
            ),
            description=(
                'In volume types only: whether the firmware and the images '
                'of servers support booting from sectors of 4096 bytes. '
                'Otherwise bootable volumes with rbd:sector_size = 4096 are '
                'refused.'
            ),
            parse=functools.partial(
                features.parse_boolean, keys.BOOT_FROM_4096
            ),
            conf_type='boolean value',
            conf_help=(
                'Whether volumes with sectors of 4096 bytes may be bootable. '
                'A volume type overrides it with rbd:boot_from_4096. SeaBIOS '
                'cannot boot from them. UEFI firmware can, from an image that '
                'was made for sectors of 4096 bytes. If unset, such volumes '
                'are refused.'
            ),
            scopes=frozenset({Scope.TYPE}),
            fixed=False,
            takes_effect=Phrase('at once'),
            suggestions=('true', 'false'),
        ),
        Option(
            key=keys.DATA_POOL,
            kind=Kind.DATA_POOL,
            value_type=ValueType.POOL,
            title=Phrase('Data pool'),
            summary=Phrase('pool that holds the data'),
            description=(
                'In volume types only: the data pool of the image, such as an '
                'erasure-coded pool.'
            ),
            parse=parse_pool,
            conf_type='name of a pool',
            conf_help=(
                'Default data pool of volumes, such as an erasure-coded pool. '
                'A volume type overrides it with rbd:data_pool. The header '
                'and the object map stay in rbd_pool. The back end reports '
                'the capacity of the data pool. If unset, the data is stored '
                'in rbd_pool.'
            ),
            scopes=frozenset({Scope.TYPE}),
            attribute=wire.ATTRIBUTE_DATA_POOL,
        ),
        Option(
            key=keys.TENANT_OPTIONS,
            kind=Kind.TENANTS,
            value_type=ValueType.KEYS,
            title=Phrase('Tenant options'),
            summary=Phrase('keys that tenants may set'),
            description=(
                'In volume types only: the rbd: keys that tenants may set on '
                'volumes of the type, separated by commas. If empty, tenants '
                'may set no keys.'
            ),
            parse=parse_key_list,
            conf_type='list of keys',
            conf_help=(
                'Comma-separated list of the keys that tenants may set in the '
                'metadata of volumes, such as '
                'rbd:stripe_unit,rbd:stripe_count. A volume type overrides it '
                'with rbd:tenant_options. If empty, tenants may set no keys.'
            ),
            scopes=frozenset({Scope.TYPE}),
            conf_name=wire.RBD_TENANT_OPTIONS,
            fixed=False,
            takes_effect=Phrase('at once'),
        ),
    )
}


def with_defaults() -> Iterator[Option]:
    """Yield the options whose defaults back ends report."""
    others = (Kind.TENANTS, Kind.LIMIT_RULE)
    return (each for each in OPTIONS.values() if each.kind not in others)


def with_values() -> Iterator[Option]:
    """Yield the options whose values a volume can have."""
    return (each for each in with_defaults() if each.kind is not Kind.FIRMWARE)


def of_kind(kind: Kind) -> list[Option]:
    """Return the options of a kind."""
    return [each for each in OPTIONS.values() if each.kind is kind]


def volume_keys() -> tuple[str, ...]:
    """Return the keys that can be set in the metadata of a volume."""
    return tuple(
        each.key for each in OPTIONS.values() if Scope.VOLUME in each.scopes
    )


def families() -> list[tuple[str, ...]]:
    """Return the keys of volume metadata, each with those of its family."""
    found: dict[str, list[str]] = {}
    for key in volume_keys():
        found.setdefault(OPTIONS[key].family, []).append(key)
    return [tuple(each) for each in found.values()]


def changeable() -> list[Option]:
    """Return the options that can be changed on existing volumes."""
    return [
        each
        for each in OPTIONS.values()
        if Scope.VOLUME in each.scopes and not each.fixed
    ]


def conf_names() -> dict[str, str]:
    """Return the option of cinder.conf for each key."""
    return {
        each.key: each.conf_name for each in OPTIONS.values() if each.conf_help
    }


def policies() -> dict[Policy, list[str]]:
    """Return the policies for volume metadata, each with its keys."""
    found: dict[Policy, list[str]] = {}
    for each in OPTIONS.values():
        if each.policy:
            found.setdefault(each.policy, []).append(each.key)
    return found


def is_fixed(key: str) -> bool:
    """Return whether a key is fixed at creation; False for unknown keys."""
    return key in OPTIONS and OPTIONS[key].fixed


def partner(name: str) -> str | None:
    """Return the key that must be set together with a key, if any."""
    return OPTIONS[name].partner if name in OPTIONS else None


def shown_key(name: str) -> str:
    """Return a key for a message; an unknown one is untrusted text."""
    return name if name in OPTIONS else errors.shown(name)


def names(scope: Scope) -> str:
    """Return the keys that are allowed in a scope, for a message.

    Those about a limit on reads and writes are many, and have a common start.
    """
    starts = {each.name: f'{keys.PREFIX}{each.name}_*' for each in keys.LIMITS}
    return ', '.join(
        dict.fromkeys(
            starts.get(each.family, key)
            for key, each in OPTIONS.items()
            if scope in each.scopes
        )
    )


def check_tenant(metadata: Mapping[str, str], allowed: frozenset[str]) -> None:
    """Check that a tenant is allowed to set the keys in a volume's metadata.

    Unknown keys are left to :mod:`.options`, whose message is more precise.

    :raises OptionError: for the first key that is not allowed
    """
    for name in sorted(metadata.keys() & set(volume_keys()) - allowed):
        raise errors.OptionError(
            name,
            metadata[name],
            Phrase('tenants may not set this key on this volume type'),
            ', '.join(k for k in volume_keys() if k in allowed) or keys.NO_KEY,
            errors.Origin.VOLUME_METADATA,
        )
