# SPDX-License-Identifier: Apache-2.0

"""The option about the pool of the data."""

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import wire

Phrase = phrases.Phrase

_MAX_POOL_NAME = 128


def invalid(value: str) -> errors.OptionError:
    """Return the error for the name of a pool that cannot be used."""
    return errors.OptionError(
        keys.DATA_POOL,
        value,
        Phrase('not a valid pool name'),
        Phrase(
            'the name of a pool: up to 128 letters, digits, dots, hyphens '
            'and underscores'
        ),
    )


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
        raise invalid(value)
    return value


OPTIONS = (
    definitions.Option(
        key=keys.DATA_POOL,
        kind=definitions.Kind.DATA_POOL,
        value_type=definitions.ValueType.POOL,
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
        scopes=frozenset({keys.Scope.TYPE}),
        attribute=wire.ATTRIBUTE_DATA_POOL,
    ),
)
