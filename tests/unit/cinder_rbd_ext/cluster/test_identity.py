# SPDX-License-Identifier: Apache-2.0

"""Test the identity of a shared connection."""

import os
import pathlib
from typing import Any

import ddt
import fixtures

from cinder_rbd_ext.cluster import identity
from tests.fakes import fake_rados
from tests.unit import base


class _Driver:
    def __init__(self, rados: Any) -> None:
        self.rados = rados


@ddt.ddt
class DigestsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.folder / 'ceph.conf'
        self.conf.write_text('[global]')
        self.keyring = self.folder / 'keyring'
        self.cluster = fake_rados.Cluster()
        self.cluster.config['keyring'] = f'/nowhere,{self.keyring}'
        driver: Any = _Driver(self.cluster.rados)
        self.texts = identity.Digests(driver)

    def _digest(self, **other: Any) -> str:
        return self.texts.digest(
            identity.Place(
                **{
                    'name': 'ceph',
                    'conf': str(self.conf),
                    'user': 'cinder',
                    'timeout': -1,
                    **other,
                }
            )
        )

    def test_unchanged_files_have_the_same_digest(self) -> None:
        self.keyring.write_text('key = A')
        self.assertEqual(self._digest(), self._digest())

    def test_key_of_the_same_size_and_time(self) -> None:
        self.keyring.write_text('key = A')
        before = self._digest()
        at = self.keyring.stat()
        self.keyring.write_text('key = B')
        os.utime(self.keyring, ns=(at.st_atime_ns, at.st_mtime_ns))
        self.assertNotEqual(before, self._digest())

    def test_changed_configuration_changes_the_digest(self) -> None:
        before = self._digest()
        self.conf.write_text('[global]\nkey = A')
        self.assertNotEqual(before, self._digest())

    def test_changed_keyfile_changes_the_digest(self) -> None:
        file = self.folder / 'keyfile'
        self.cluster.config['keyfile'] = str(file)
        before = self._digest()
        file.write_text('A')
        self.assertNotEqual(before, self._digest())

    def test_missing_files(self) -> None:
        self.assertTrue(self._digest(conf='/nowhere/ceph.conf'))

    def test_default_configuration(self) -> None:
        self.useFixture(
            fixtures.EnvironmentVariable('CEPH_CONF', str(self.conf))
        )
        before = self._digest(conf='')
        self.conf.write_text('[client]')
        self.assertNotEqual(before, self._digest(conf=''))
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', None))
        self.assertTrue(self._digest(conf=''))
