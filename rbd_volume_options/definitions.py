# SPDX-License-Identifier: Apache-2.0

"""What the definition of an option says: all that any layer asks about it.

The definitions are in :mod:`.families`, and :mod:`.registry` has all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import phrases
from rbd_volume_options import sizes

Phrase = phrases.Phrase
Scope = keys.Scope

#: Alias of the API extension; prefix of its route and of its attributes.
ALIAS = 'os-rbd-volume-options'
#: Route of the API extension, below the project.
ROUTE = f'/{ALIAS}'
#: Its route for administrators: what the compute hosts said in connectors.
HOSTS_ROUTE = '/os-rbd-compute-hosts'
#: Prefix of its policies.
POLICY = 'volume_extension:rbd_volume_options'

# Attributes of a volume. Sizes are in bytes; null if there is no record.
ATTRIBUTE_OBJECT_SIZE = f'{ALIAS}:object_size'
ATTRIBUTE_STRIPE_UNIT = f'{ALIAS}:stripe_unit'
ATTRIBUTE_STRIPE_COUNT = f'{ALIAS}:stripe_count'
ATTRIBUTE_FEATURES = f'{ALIAS}:features'
ATTRIBUTE_DATA_POOL = f'{ALIAS}:data_pool'
#: The limits on reads and writes that are in force, by key without prefix.
ATTRIBUTE_LIMITS = f'{ALIAS}:limits'
ATTRIBUTE_SECTOR_SIZE = f'{ALIAS}:sector_size'
#: The requested cache mode of each attachment, by the attachment's ID.
ATTRIBUTE_CACHE_MODES = f'{ALIAS}:cache_modes'


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
    #: What happens to the images of deleted volumes, in volume types only.
    DELETION = 'deletion of volumes'
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

    :ivar subject: the key or the kind of keys, without prefix
    :ivar action: what it allows; the keys follow
    """

    subject: str
    action: str

    @property
    def name(self) -> str:
        """The name in policy files."""
        return f'{POLICY}:set_{self.subject}'


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
RATE = 'bytes per second'


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
    :ivar requires: what a compute host needs to apply a value that stock Nova
        ignores; empty for the other options
    :ivar without_plug_in: the value that each host applies
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
    requires: str = ''
    without_plug_in: Any = None
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
    narrowed: Callable[
        [Sequence[operator_limits.Limits], bool], dict[str, Any]
    ] = lambda bounds, multiattach: {}
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
        return self.conf_type == RATE

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

    def allowed_values(
        self, bounds: operator_limits.Limits
    ) -> tuple[Any, ...] | None:
        """Return the values that a back end allows; None if all of them."""
        if self.allowed is None:
            return None
        allowed: tuple[Any, ...] = bounds.allowed.get(
            self.key, self.allowed.default
        )
        return allowed

    def bounds_of(
        self, backends: Sequence[operator_limits.Limits], multiattach: bool
    ) -> dict[str, Any]:
        """Return the bounds in the response for a volume type.

        :param backends: the limits of the back ends of the type
        """
        bounds = {**self.bounds, **self.narrowed(backends, multiattach)}
        if self.value_type is ValueType.WORD:
            values = [self.parse(choice) for choice in self.choices]
            for limits in backends:
                allowed = self.allowed_values(limits)
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


def word_parser(
    key: str, reason: Phrase, words: Sequence[str]
) -> Callable[[str], str]:
    """Return the parser of a key whose values are words."""

    def parse(value: str) -> str:
        if value not in words:
            raise errors.OptionError(key, value, reason, ', '.join(words))
        return value

    return parse


def powers(first: int, last: int) -> tuple[str, ...]:
    texts = []
    while first <= last:
        texts.append(sizes.format_size(first).replace(' ', ''))
        first *= 2
    return tuple(texts)


@dataclasses.dataclass(frozen=True, repr=False)
class CheckedText:
    """A type whose values are checked by a parser and stored as text.

    oslo.config logs the value of an option when a service starts with debug
    enabled, and writes its default to configuration samples. Text shows both
    as they were written. Types with the same parser and name are equal,
    because glance_store registers the options of a store repeatedly, and
    oslo.config accepts a duplicate option only if it is equal.

    :ivar parser: checks a value; raises :class:`errors.OptionError` for an
        invalid value, and its result is ignored
    :ivar type_name: the name in samples and in the configuration reference
    """

    parser: Callable[[str], Any]
    type_name: str

    def __call__(self, value: Any) -> str:
        """Return the value as text.

        :raises ValueError: for an invalid value. The message has the reason
            and the allowed values, but not the key, because oslo.config
            names the option
        """
        try:
            self.parser(str(value))
        except errors.OptionError as error:
            raise ValueError(
                f'{error.reason}; allowed: {error.allowed}'
            ) from error
        return str(value)

    def __repr__(self) -> str:
        return self.type_name

    def format_defaults(
        self, default: Any, sample_default: Any = None
    ) -> list[str]:
        """Return the default for a sample; called by oslo.config."""
        shown = default if sample_default is None else sample_default
        return ['<None>' if shown is None else str(shown)]


def config_type(parser: Callable[[str], Any], type_name: str) -> Any:
    """Return a type for oslo.config, which declares a class of its own."""
    return CheckedText(parser, type_name)
