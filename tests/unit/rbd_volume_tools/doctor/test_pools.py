# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.doctor.pools.

The functional tests use a cluster; these are for faults.
"""

import dataclasses
import errno
import json
from typing import Any

import ddt

from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import pools
from tests.unit import base

_ACCESS = pools.Access('Cinder [a]', 'c.conf', 'u', ('p', 'p'))
_S = findings.Severity


class Error(Exception):
    """Base class of librados' errors."""

    def __init__(self, number: int) -> None:
        super().__init__(f'errno {number}')
        self.errno = number


class Ceph:
    """The parts of librados and librbd that the checks call.

    :ivar fails: the error number for each failing operation
    """

    Error = Error
    ImageNotFound = KeyError

    def __init__(self) -> None:
        self.fails: dict[str, int] = {}
        self.done: list[str] = []
        self.mode = ''

    def Rados(self, **kwargs: Any) -> 'Ceph':
        self.options = kwargs['conf']
        return self

    def RBD(self) -> 'Ceph':
        return self

    def open_ioctx(self, pool: str) -> 'Ceph':
        self._do('open_ioctx')
        return self

    def mon_command(self, command: str, data: bytes) -> tuple[int, bytes, str]:
        """Return the compression mode, or refuse the address."""
        if 'compression_mode' in command:
            answer = json.dumps({'compression_mode': self.mode}).encode()
            return (0, answer, '') if self.mode else (-errno.ENOENT, b'', '')
        return -errno.EINVAL, b'', 'unable to parse address'

    def conf_get(self, name: str) -> str | None:
        """Return an option, except for an unknown one."""
        if name == 'ms_client_mode':
            raise Error(errno.ENOENT)
        return {
            'rbd_default_features': '61',
            'rbd_read_from_replica_policy': 'default',
        }.get(name, '0')

    def pool_metadata_list(self, ioctx: Any) -> list[tuple[str, str]]:
        raise KeyError

    def _do(self, name: str) -> None:
        self.done.append(name)
        if name in self.fails:
            raise Error(self.fails[name])

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self._do(name)


@ddt.ddt
class PoolsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ceph = Ceph()
        self.clients = pools.Clients(self.ceph, self.ceph)

    def test_interrupted_check_leaves_no_object(self) -> None:
        def interrupt(name: str) -> None:
            raise KeyboardInterrupt

        self.ceph.read = interrupt  # type: ignore[attr-defined]
        self.assertRaises(
            KeyboardInterrupt, list, self.clients.check_pools(_ACCESS)
        )
        self.assertIn('remove_object', self.ceph.done)

    @ddt.data(
        ('', 'unset'),
        ('none', 'any value has no effect'),
        ('passive', '= compressible has an effect'),
        ('aggressive', '= incompressible has an effect'),
        ('force', 'any value has no effect'),
    )
    @ddt.unpack
    def test_compression_mode_says_which_hint_has_an_effect(
        self, mode: str, words: str
    ) -> None:
        self.ceph.mode = mode
        _object, compression = self.clients.check_pools(_ACCESS)
        self.assertIn(words, compression.seen)
        self.assertIsNone(compression.severity)

    @ddt.data(
        ('open_ioctx', errno.ENOENT, 'Create the pool'),
        ('write_full', errno.EPERM, 'profile rbd pool=p'),
        ('write', errno.EOPNOTSUPP, 'allow_ec_overwrites'),
        ('read', errno.ETIMEDOUT, 'health of the cluster'),
        ('remove_object', errno.EPERM, 'profile rbd pool=p'),
    )
    @ddt.unpack
    def test_refused_operation_has_a_remedy(
        self, operation: str, number: int, remedy: str
    ) -> None:
        self.ceph.fails[operation] = number
        (finding,) = self.clients.check_pools(_ACCESS)
        self.assertEqual(_S.ERROR, finding.severity)
        self.assertIn(remedy, finding.remedy)
        self.assertEqual('shutdown', self.ceph.done[-1])

    def test_command_of_a_remedy_has_the_pool_as_one_word(self) -> None:
        self.ceph.fails['write'] = errno.EOPNOTSUPP
        access = dataclasses.replace(_ACCESS, pools=('p; reboot',))
        (finding,) = self.clients.check_pools(access)
        self.assertIn("pool set 'p; reboot' allow", finding.remedy)
