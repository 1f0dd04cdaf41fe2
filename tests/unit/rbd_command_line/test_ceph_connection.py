# SPDX-License-Identifier: Apache-2.0

import errno
import pathlib
import types

import fixtures

from rbd_command_line import ceph_connection
from tests.unit import base


class Error(Exception):
    """An error of librados."""

    def __init__(self, number: int) -> None:
        super().__init__(f'errno {number}')
        self.errno = number


class AdviceTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.folder / 'ceph.conf'
        self.keyring = self.folder / 'keyring'

    def advice(self, number: int) -> str:
        client = types.SimpleNamespace(
            conf_get=lambda name: f'/none, {self.keyring}',
            shutdown=lambda: None,
        )
        librados = types.SimpleNamespace(Rados=lambda **kwargs: client)
        return ceph_connection.advice(
            librados, Error(number), str(self.conf), 'me'
        )

    def test_missing_file(self) -> None:
        self.assertIn(f'{self.conf} does not exist', self.advice(errno.ENOENT))

    def test_monitors_that_do_not_respond(self) -> None:
        self.conf.touch()
        self.assertIn('Check the monitors', self.advice(errno.ETIMEDOUT))

    def test_missing_keyring_is_named(self) -> None:
        self.conf.touch()
        self.assertIn(
            f'no keyring of client.me: /none or {self.keyring}',
            self.advice(errno.ENOENT),
        )
        self.keyring.touch()
        self.assertIn('has no key of client.me', self.advice(errno.ENOENT))
        self.assertIn('ceph auth get client.me', self.advice(errno.EACCES))

    def test_keyring_that_may_not_be_read(self) -> None:
        self.conf.touch()
        self.keyring.touch()
        self.useFixture(
            fixtures.MonkeyPatch(
                'os.access', lambda path, mode: path == str(self.conf)
            )
        )
        self.assertIn(
            f'{self.keyring} cannot be read', self.advice(errno.EACCES)
        )
