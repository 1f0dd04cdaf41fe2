# SPDX-License-Identifier: Apache-2.0

"""What to do about a connection to Ceph that could not be made."""

import errno
import os
import pathlib
from typing import Any


def advice(librados: Any, error: Exception, conf: str, user: str) -> str:
    """Return what is wrong, and what to do.

    The text of librados names neither the file nor the user.

    :param librados: the module ``rados``
    :param error: what librados raised
    :param conf: path of ceph.conf
    :param user: name of the Ceph user, without ``client.``
    """
    if not os.access(conf, os.R_OK):
        return f'{conf} does not exist or cannot be read. Correct the path.'
    number = getattr(error, 'errno', None)
    if number not in (errno.ENOENT, errno.EACCES, errno.EPERM):
        try:
            monitors = _option(librados, conf, user, 'mon_host') or 'not set'
        except librados.Error:
            return f'{conf} cannot be parsed. Correct it.'
        return (
            f'The monitors (mon_host) are {monitors}. Correct {conf} if they '
            'are others. Otherwise, check that a majority of them runs, and '
            'that no firewall blocks their ports 3300 and 6789.'
        )
    keyrings = [
        str(pathlib.Path(each.strip()))
        for each in _option(librados, conf, user, 'keyring').split(',')
    ]
    existing = [path for path in keyrings if os.path.exists(path)]
    if not existing:
        names = ' or '.join(keyrings)
        return (
            f'There is no keyring of client.{user}: {names}. Copy it to this '
            'host, or correct the name of the user.'
        )
    (path, *_) = existing
    if not os.access(path, os.R_OK):
        return (
            f'The keyring {path} cannot be read. Run the command as a user '
            'who may read it.'
        )
    if number == errno.ENOENT:
        return (
            f'The keyring {path} has no key of client.{user}. Add the key, or '
            'correct the name of the user.'
        )
    return (
        f'Ceph does not accept the key in {path}. Compare it with ceph auth '
        f'get client.{user}.'
    )


def _option(librados: Any, conf: str, user: str, name: str) -> str:
    """Return an option as librados reads it, such as the paths of keyrings."""
    client = librados.Rados(conffile=conf, rados_id=user)
    try:
        return str(client.conf_get(name) or '')
    finally:
        client.shutdown()
