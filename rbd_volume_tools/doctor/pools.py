# SPDX-License-Identifier: Apache-2.0

"""Checks access to pools with a test object."""

from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import json
import shlex
from typing import Any
import uuid

from rbd_volume_options import keys
from rbd_volume_tools.command_line import ceph_connection
from rbd_volume_tools.command_line import ceph_options
from rbd_volume_tools.command_line import findings

#: Seconds to wait for Ceph.
PATIENCE = '10'
# Capabilities can be limited to the prefix of data objects.
_OBJECT = 'rbd_data.cinder-rbd-ext-doctor.'
_CONTENT = b'probe'
_MON_TIMEOUTS = ('client_mount_timeout', 'rados_mon_op_timeout')
_NO_ADDRESS = 'none/0'
_UNSUPPORTED = (errno.EOPNOTSUPP,)
#: The hint that changes what happens, by the compression mode of the pool.
_HINTS = {'passive': 'compressible', 'aggressive': 'incompressible'}

Finding = findings.Finding


@dataclasses.dataclass(frozen=True)
class Access:
    """A Ceph user and the pools that it must be able to write to.

    :ivar origin: the section that names them
    :ivar conf: path of ceph.conf
    :ivar user: name of the Ceph user, without ``client.``
    """

    origin: str
    conf: str
    user: str
    pools: tuple[str, ...]


class Clients:
    """Connections to Ceph as the Ceph users of the services.

    :param librados: the module ``rados``
    :param librbd: the module ``rbd``
    """

    def __init__(self, librados: Any, librbd: Any) -> None:
        self._rados = librados
        self._rbd = librbd

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that the methods raise."""
        return (self._rados.Error, self._rbd.Error)

    def connection_failure(self, access: Access, error: Exception) -> Finding:
        """Return the finding for a user that cannot connect."""
        return findings.error(
            f'{access.origin} as client.{access.user}',
            f'cannot connect with {access.conf}: {error}',
            ceph_connection.advice(
                self._rados, error, access.conf, access.user
            ),
        )

    def options(self, access: Access) -> dict[str, str]:
        """Return the options that Ceph gives to a user.

        :raises rados.Error: without a connection
        """
        with self._connected(access, _MON_TIMEOUTS) as client:
            values = {}
            for name in ceph_options.NAMES:
                # Some releases of Ceph do not have the option.
                with contextlib.suppress(self._rados.Error):
                    values[name] = str(client.conf_get(name) or '')
            return values

    def check_blocklisting(self, access: Access) -> Iterator[Finding]:
        """Check that a user may blocklist clients.

        The monitor checks the capability before it parses the address, which
        is none: it refuses the command in both cases, for another reason.

        :raises rados.Error: without a connection
        """
        command = {
            'prefix': 'osd blocklist',
            'blocklistop': 'add',
            'addr': _NO_ADDRESS,
        }
        with self._connected(access, _MON_TIMEOUTS) as client:
            number, _, _ = client.mon_command(json.dumps(command), b'')
        if -number in (errno.EACCES, errno.EPERM):
            yield findings.error(
                f'{access.origin} as client.{access.user}',
                'may not blocklist other clients',
                f"Add the MON capability 'profile rbd' to client.{access.user}"
                ' (ceph auth caps). Without it, images stay locked after '
                'their client has died.',
            )

    def authenticates(self, access: Access, key: str) -> bool | None:
        """Return whether a key is that of a user; None if it is unknown.

        :param key: a secret
        """
        values = {**dict.fromkeys(_MON_TIMEOUTS, PATIENCE), 'key': key}
        client = self._rados.Rados(
            conffile=access.conf, rados_id=access.user, conf=values
        )
        try:
            client.connect()
        except self._rados.PermissionDeniedError:
            return False
        except self._rados.Error:
            return None
        finally:
            client.shutdown()
        return True

    def check_pools(self, access: Access) -> Iterator[Finding]:
        """Check the pools of a user, on one connection.

        :raises rados.Error: without a connection
        """
        names = (*_MON_TIMEOUTS, 'rados_osd_op_timeout')
        with self._connected(access, names) as client:
            for pool in dict.fromkeys(access.pools):
                yield from self._check_pool(access, client, pool)

    def _check_pool(
        self, access: Access, client: Any, pool: str
    ) -> Iterator[Finding]:
        subject = f'{access.origin} pool {pool} as client.{access.user}'
        try:
            with contextlib.closing(client.open_ioctx(pool)) as ioctx:
                self._try_out(ioctx)
                yield Finding(subject, 'writes, reads and removes an object')
                yield self._compression(access, client, pool)
                yield from ceph_options.overrides(
                    pool, lambda: self._metadata(ioctx)
                )
        except (self._rados.Error, self._rbd.Error) as error:
            yield findings.error(
                subject,
                str(error),
                _remedy(access.user, pool, getattr(error, 'errno', None)),
            )

    def _compression(self, access: Access, client: Any, pool: str) -> Finding:
        """Return which compression hints have an effect in a pool."""
        command = {
            'prefix': 'osd pool get',
            'pool': pool,
            'var': 'compression_mode',
            'format': 'json',
        }
        number, output, _ = client.mon_command(json.dumps(command), b'')
        subject = f'{access.origin} pool {pool}, compression mode'
        if number:
            return Finding(
                subject,
                'unset: bluestore_compression_mode of the OSDs decides which '
                f'{keys.COMPRESSION_HINT} has an effect',
            )
        mode = json.loads(output)['compression_mode']
        hint = _HINTS.get(mode, 'any value')
        effect = 'an' if mode in _HINTS else 'no'
        return Finding(
            subject,
            f'{mode}: {keys.COMPRESSION_HINT} = {hint} has {effect} effect',
        )

    def _try_out(self, ioctx: Any) -> None:
        """Write, read and remove an object."""
        name = f'{_OBJECT}{uuid.uuid4().hex}'
        try:
            ioctx.write_full(name, _CONTENT)
            # An erasure-coded pool may refuse an overwrite.
            ioctx.write(name, _CONTENT[:1], 0)
            ioctx.read(name)
        except BaseException:
            with contextlib.suppress(self._rados.Error):
                ioctx.remove_object(name)
            raise
        ioctx.remove_object(name)

    def _metadata(self, ioctx: Any) -> dict[str, str]:
        try:
            return dict(self._rbd.RBD().pool_metadata_list(ioctx))
        except self._rbd.ImageNotFound:
            # A pool that stores only data has no metadata.
            return {}

    @contextlib.contextmanager
    def _connected(
        self, access: Access, limited: tuple[str, ...]
    ) -> Iterator[Any]:
        client = self._rados.Rados(
            conffile=access.conf,
            rados_id=access.user,
            conf=dict.fromkeys(limited, PATIENCE),
        )
        try:
            client.connect()
            yield client
        finally:
            client.shutdown()


def clients() -> Clients | None:
    """Return connections; None if Ceph's libraries are not installed."""
    # The packages of the distribution contain them. Clients do not need them.
    try:
        import rados
        import rbd
    except ImportError:
        return None
    return Clients(rados, rbd)


def _remedy(user: str, pool: str, number: int | None) -> str:
    if number == errno.ENOENT:
        return f'Create the pool {pool}, or correct its name.'
    if number in _UNSUPPORTED:
        words = ('osd', 'pool', 'set', pool, 'allow_ec_overwrites', 'true')
        return shlex.join(('ceph', *words))
    if number in (errno.ETIMEDOUT, errno.ENOSPC, errno.EDQUOT):
        return 'Check the health of the cluster and the quota of the pool.'
    return (
        f"Add the OSD capability 'profile rbd pool={pool}' to client.{user} "
        '(ceph auth caps).'
    )
