# SPDX-License-Identifier: Apache-2.0

"""A test write to a data pool, and the refusal of a pool where it fails."""

from collections.abc import Callable
import errno
from typing import Any
import uuid

from rbd_volume_options import bindings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases

Phrase = phrases.Phrase

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
OF_POOL = {
    errno.ENOENT: (
        Phrase('the pool does not exist'),
        Phrase('a pool of the Ceph cluster'),
    ),
    errno.EOPNOTSUPP: (
        Phrase('the pool does not allow overwrites'),
        Phrase('an erasure-coded pool with allow_ec_overwrites'),
    ),
}


def try_out(
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


def refusal(
    pool: str, origin: errors.Origin, number: int
) -> errors.OptionError:
    """Return the refusal of a pool that could not be written.

    :param number: the number of the error
    """
    reason, allowed = OF_POOL.get(number) or (
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
