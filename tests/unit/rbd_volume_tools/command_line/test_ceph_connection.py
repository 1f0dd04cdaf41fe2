# SPDX-License-Identifier: Apache-2.0

import errno
import pathlib
import types
from unittest import mock

import fixtures

from rbd_volume_tools.command_line import ceph_connection
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
        options = {
            'keyring': f'/none, {self.keyring}',
            'mon_host': '192.0.2.1,192.0.2.2',
        }
        client = types.SimpleNamespace(
            conf_get=options.get,
            shutdown=lambda: None,
        )
        librados = types.SimpleNamespace(Rados=lambda **kwargs: client)
        return ceph_connection.advice(
            librados, Error(number), str(self.conf), 'me'
        )

    def test_missing_file(self) -> None:
        self.assertIn(f'{self.conf} does not exist', self.advice(errno.ENOENT))

    def test_monitors_that_do_not_respond_are_named(self) -> None:
        self.conf.touch()
        advice = self.advice(errno.ETIMEDOUT)
        self.assertIn('(mon_host) are 192.0.2.1,192.0.2.2', advice)
        self.assertIn(f'Correct {self.conf}', advice)

    def test_file_that_cannot_be_parsed_is_named(self) -> None:
        self.conf.touch()
        librados = types.SimpleNamespace(
            Rados=mock.Mock(side_effect=Error(errno.EINVAL)), Error=Error
        )
        advice = ceph_connection.advice(
            librados, Error(errno.EINVAL), str(self.conf), 'me'
        )
        self.assertIn(f'{self.conf} cannot be parsed', advice)

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
