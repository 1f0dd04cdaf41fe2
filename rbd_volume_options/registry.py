# SPDX-License-Identifier: Apache-2.0

"""All options, by key, and what several layers ask about them.

Each layer (checks, discovery, attributes, the record, options of cinder.conf,
capabilities, policies, commands, forms, metadata definitions, documentation)
iterates over :data:`OPTIONS`. A layer may depend on the kind of an option, but
not on its name.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import functools

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options.families import cache_modes
from rbd_volume_options.families import compression
from rbd_volume_options.families import data_pool
from rbd_volume_options.families import deletion
from rbd_volume_options.families import discard
from rbd_volume_options.families import features
from rbd_volume_options.families import layout
from rbd_volume_options.families import rate_limits
from rbd_volume_options.families import sector_size

Phrase = phrases.Phrase


def parse_key_list(value: str) -> frozenset[str]:
    """Return the keys in a list; an empty list allows no keys.

    A name can be that of several keys: a family (:func:`key_families`), or a
    pattern with ``*``.

    :raises OptionError: for a name that is not one of volume metadata
    """
    named = key_families()
    chosen: set[str] = set()
    for name in sorted(set(keys.split_list(value))) if value else ():
        own = named.get(name) or {
            key for key in volume_keys() if key == name or _matches(name, key)
        }
        if not own:
            raise errors.OptionError(
                keys.TENANT_OPTIONS,
                name,
                Phrase(
                    '{name} is not a key that tenants can set',
                    name=errors.shown(name),
                ),
                Phrase(
                    'a comma-separated list of {families}, of keys of '
                    'volumes, and of patterns such as rbd:iops_*',
                    families=', '.join(named),
                ),
            )
        chosen |= own
    return frozenset(chosen)


def _matches(pattern: str, key: str) -> bool:
    """Return whether a key matches a pattern, in which only ``*`` counts."""
    first, *others = pattern[: keys.MAX_NAME + 1].split('*')
    if not others or len(pattern) > keys.MAX_NAME:
        return False
    *middle, last = others
    rest = key.removeprefix(first)
    if not key.startswith(first) or not rest.endswith(last):
        return False
    rest = rest[: len(rest) - len(last)]
    for part in filter(None, middle):
        _, matched, rest = rest.partition(part)
        if not matched:
            return False
    return True


@functools.cache
def key_families() -> dict[str, frozenset[str]]:
    """Return the keys that have one policy, by a name for all of them.

    They are ``rbd:layout`` and ``rbd:limits``. The other policies have the
    name of their key.
    """
    families: dict[str, set[str]] = {}
    for key in volume_keys():
        policy = OPTIONS[key].policy
        if policy:
            name = f'{keys.PREFIX}{policy.subject}'
            families.setdefault(name, set()).add(key)
    return {
        name: frozenset(own)
        for name, own in families.items()
        if name not in OPTIONS
    }


_TENANT_OPTIONS = definitions.Option(
    key=keys.TENANT_OPTIONS,
    kind=definitions.Kind.TENANTS,
    value_type=definitions.ValueType.KEYS,
    title=Phrase('Tenant options'),
    summary=Phrase('keys that tenants may set'),
    description=(
        'In volume types only: the rbd: keys that tenants may set on '
        'volumes of the type, separated by commas. rbd:layout and '
        'rbd:limits stand for all keys of that kind, and a name with * '
        'for the keys that match it (rbd:iops_*). If empty, tenants may '
        'set no keys.'
    ),
    parse=parse_key_list,
    conf_type='list of keys',
    conf_help=(
        'Comma-separated list of the keys that tenants may set in the '
        'metadata of volumes, such as '
        'rbd:stripe_unit,rbd:stripe_count. rbd:layout and rbd:limits '
        'stand for all keys of that kind, and a name with * for the keys '
        'that match it (rbd:iops_*). A volume type overrides the list '
        'with rbd:tenant_options. If empty, tenants may set no keys.'
    ),
    scopes=frozenset({keys.Scope.TYPE}),
    conf_name='rbd_tenant_options',
    fixed=False,
    takes_effect=Phrase('at once'),
)

#: All options, by key, in the order of responses, forms and tables.
OPTIONS: dict[str, definitions.Option] = {
    option.key: option
    for option in (
        *layout.OPTIONS,
        *features.OPTIONS,
        *cache_modes.OPTIONS,
        *rate_limits.OPTIONS,
        *compression.OPTIONS,
        *discard.OPTIONS,
        *sector_size.OPTIONS,
        *data_pool.OPTIONS,
        *deletion.OPTIONS,
        _TENANT_OPTIONS,
    )
}


def with_defaults() -> Iterator[definitions.Option]:
    """Yield the options whose defaults back ends report."""
    others = (
        *(definitions.Kind.TENANTS, definitions.Kind.LIMIT_RULE),
        definitions.Kind.DELETION,
    )
    return (option for option in OPTIONS.values() if option.kind not in others)


def with_values() -> Iterator[definitions.Option]:
    """Yield the options whose values a volume can have."""
    return (
        option
        for option in with_defaults()
        if option.kind is not definitions.Kind.FIRMWARE
    )


def of_kind(kind: definitions.Kind) -> list[definitions.Option]:
    """Return the options of a kind."""
    return [option for option in OPTIONS.values() if option.kind is kind]


def keys_of_kind(kind: definitions.Kind) -> list[str]:
    """Return the keys of the options of a kind."""
    return [option.key for option in of_kind(kind)]


def volume_keys() -> tuple[str, ...]:
    """Return the keys that can be set in the metadata of a volume."""
    return tuple(
        option.key
        for option in OPTIONS.values()
        if keys.Scope.VOLUME in option.scopes
    )


def families() -> list[tuple[str, ...]]:
    """Return the keys of volume metadata, each with those of its family."""
    by_family: dict[str, list[str]] = {}
    for key in volume_keys():
        by_family.setdefault(OPTIONS[key].family, []).append(key)
    return [tuple(family) for family in by_family.values()]


def changeable() -> list[definitions.Option]:
    """Return the options that can be changed on existing volumes."""
    return [
        option
        for option in OPTIONS.values()
        if keys.Scope.VOLUME in option.scopes and not option.fixed
    ]


def conf_names() -> dict[str, str]:
    """Return the option of cinder.conf for each key."""
    return {
        option.key: option.conf_name
        for option in OPTIONS.values()
        if option.conf_help
    }


def policies() -> dict[definitions.Policy, list[str]]:
    """Return the policies for volume metadata, each with its keys."""
    by_policy: dict[definitions.Policy, list[str]] = {}
    for option in OPTIONS.values():
        if option.policy:
            by_policy.setdefault(option.policy, []).append(option.key)
    return by_policy


@functools.cache
def attributes_of_connections() -> Mapping[str, str]:
    """Return the attributes of connections, each with its item in them."""
    return {
        option.attribute: option.item
        for option in of_kind(definitions.Kind.CONNECTION)
        if option.attribute is not None
    }


def is_fixed(key: str) -> bool:
    """Return whether a key is fixed at creation; False for unknown keys."""
    return key in OPTIONS and OPTIONS[key].fixed


def partner(name: str) -> str | None:
    """Return the key that must be set together with a key, if any."""
    return OPTIONS[name].partner if name in OPTIONS else None


def shown_key(name: str) -> str:
    """Return a key for a message; an unknown one is untrusted text."""
    return name if name in OPTIONS else errors.shown(name)


def names(scope: keys.Scope) -> str:
    """Return the keys that are allowed in a scope, for a message.

    Those about a limit on reads and writes are many, and have a common start.
    """
    starts = {
        limit_keys.name: f'{keys.PREFIX}{limit_keys.name}_*'
        for limit_keys in keys.LIMITS
    }
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
