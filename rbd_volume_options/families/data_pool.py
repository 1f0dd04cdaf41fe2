# SPDX-License-Identifier: Apache-2.0

"""The option about the pool of the data, and a test write to a pool."""

from collections.abc import Callable
import errno
from typing import Any
import uuid

from rbd_volume_options import bindings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases

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
        attribute=definitions.ATTRIBUTE_DATA_POOL,
    ),
)


# If the pool is full, an OSD responds at once instead of blocking the
# operation until there is space (LIBRADOS_OPERATION_FULL_TRY, not in the
# binding).
_FULL_TRY = 64

# The name has the prefix of data objects, because capabilities can be limited
# to a prefix. It is the same for each probe of a service, so that the next one
# removes what a killed service left.
_OBJECT = 'rbd_data.cinder-probe.'

#: Errors that do not depend on the user's capabilities.
UNDECIDED = (errno.ETIMEDOUT, errno.ENOSPC, errno.EDQUOT)

#: Errors that depend on the pool only: what is wrong, and what is allowed.
POOL_ERRORS = {
    errno.ENOENT: (
        Phrase('the pool does not exist'),
        Phrase('a pool of the Ceph cluster'),
    ),
    errno.EOPNOTSUPP: (
        Phrase('the pool does not allow overwrites'),
        Phrase('an erasure-coded pool with allow_ec_overwrites'),
    ),
}


def try_write(
    librados: Any,
    ioctx: bindings.Ioctx,
    host: str | None,
    log: Callable[..., None],
) -> None:
    """Write an object, overwrite a part of it and remove it.

    :param librados: the module ``rados``
    :param log: logs that the object could not be removed
    :raises rados.Error: if the pool cannot be written
    """
    name = f'{_OBJECT}{uuid.uuid5(uuid.NAMESPACE_DNS, str(host)).hex}'

    def operate(fill: Callable[[Any], None]) -> None:
        with librados.WriteOpCtx() as operation:
            fill(operation)
            ioctx.operate_write_op(operation, name, flags=_FULL_TRY)

    try:
        operate(lambda operation: operation.write_full(b'probe'))
        operate(lambda operation: operation.write(b'P', 1))
    finally:
        try:
            operate(lambda operation: operation.remove())
        except librados.Error as error:
            # This error is not raised: an error of the write is more
            # important, and otherwise only a small object remains.
            log('Could not remove object %s: %s', name, error)


def write_refusal(
    pool: str, origin: errors.Origin, number: int
) -> errors.OptionError:
    """Return the write_refusal of a pool that could not be written.

    :param number: the number of the error
    """
    reason, allowed = POOL_ERRORS.get(number) or (
        Phrase(
            'the back end cannot write to the pool (errno {number}, {name})',
            number=number,
            name=errno.errorcode.get(number, 'unknown'),
        ),
        Phrase(
            'a pool for which the user has the OSD capability '
            "'profile rbd pool={pool}'",
            pool=pool,
        ),
    )
    return errors.OptionError(keys.DATA_POOL, pool, reason, allowed, origin)
