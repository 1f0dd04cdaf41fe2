# SPDX-License-Identifier: Apache-2.0

"""The exception of this package, and the origins of a value."""

from collections.abc import Mapping
import enum

from rbd_volume_options import keys

#: Maximum number of characters of a value in a message. Metadata values have
#: up to 255 characters, and extra specs of a volume type can be longer.
MAX_SHOWN = 64

# Horizon recognizes refusals of the API extension by these texts.
#: Start of each HTTP 400 message; key, value and reason follow.
REFUSED = 'RBD volume option refused: '
#: HTTP 403 message for a key.
FORBIDDEN_KEY = 'Policy does not allow {policy}, which {key} needs.'


class Origin(enum.IntEnum):
    """Where a value was set, highest precedence first.

    The order is that of :doc:`/user/keys`: the metadata of a volume
    overrides all other origins, and the Ceph configuration comes last. The
    page also lists the parts of a source volume that are inherited.
    """

    VOLUME_METADATA = 1
    VOLUME_TYPE = 2
    SOURCE_VOLUME = 3
    BACKEND = 4
    GLANCE_IMAGE = 5
    CLUSTER = 6

    @property
    def label(self) -> str:
        """The name of this origin in messages."""
        return _LABELS[self]


#: The origins where keys are set.
ASKED = frozenset({Origin.VOLUME_METADATA, Origin.VOLUME_TYPE})
#: The origins where keys, or the equivalent options of cinder.conf, are set.
GIVEN = ASKED | {Origin.BACKEND}

# Responses have these, and clients compare them.
_LABELS = {
    Origin.VOLUME_METADATA: 'volume metadata',
    Origin.VOLUME_TYPE: 'volume type',
    Origin.SOURCE_VOLUME: 'source volume',
    Origin.BACKEND: 'backend configuration',
    Origin.GLANCE_IMAGE: 'Glance image',
    Origin.CLUSTER: 'Ceph configuration',
}


_HIDDEN = 'not shown'


def shown(value: object) -> str:
    """Return a value for use in a message.

    The result is quoted and has at most :data:`MAX_SHOWN` characters of the
    value. It is ASCII only, because values are untrusted input and messages
    are logged.
    """
    text = value if isinstance(value, str) else str(value)
    if len(text) > MAX_SHOWN:
        return f'{text[:MAX_SHOWN]!a}... ({len(text)} characters)'
    return ascii(text)


class OptionError(ValueError):
    """An invalid value, with everything needed to correct it.

    This is also raised for a valid value that is not allowed.

    :ivar key: the key (``rbd:stripe_unit``) or option that has the value
    :ivar value: the value as it was set
    :ivar reason: what is wrong, as a clause without a full stop
    :ivar allowed: the values that are allowed
    :ivar origin: where the value was set, if known
    """

    def __init__(
        self,
        key: str,
        value: object,
        reason: str,
        allowed: str,
        origin: Origin | None = None,
    ) -> None:
        # As arguments, so that the error can be pickled.
        super().__init__(key, value, reason, allowed, origin)
        self.key = key
        self.value = value
        self.reason = reason
        self.allowed = allowed
        self.origin = origin

    def __str__(self) -> str:
        where = f' ({self.origin.label})' if self.origin else ''
        value = shown(self.value)
        # A reason that names the value is sufficient.
        named = '' if value in self.reason else f' = {value}'
        return (
            f'{self.key}{named}{where}: {self.reason}; allowed: {self.allowed}'
        )

    def at(self, origin: Origin) -> 'OptionError':
        """Return a copy of this error with the origin of the value."""
        return OptionError(
            self.key, self.value, self.reason, self.allowed, origin
        )

    def for_tenants(self) -> 'OptionError':
        """Return this error; a copy without values if they name pools.

        The value in the metadata of a volume is the tenant's own.
        """
        if self.key != keys.DATA_POOL or (
            self.origin is Origin.VOLUME_METADATA
        ):
            return self
        return OptionError(
            self.key, _HIDDEN, self.reason, _HIDDEN, self.origin
        )

    def renamed(self, names: Mapping[str, str]) -> 'OptionError':
        """Return a copy of this error with options in place of keys.

        :param names: the name of the configuration option for each key
        """

        def in_words(text: str) -> str:
            for key, option in names.items():
                text = text.replace(key, option)
            return text

        return OptionError(
            in_words(self.key),
            self.value,
            in_words(self.reason),
            in_words(self.allowed),
            self.origin,
        )
