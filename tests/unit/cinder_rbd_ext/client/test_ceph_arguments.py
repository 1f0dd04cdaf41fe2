#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.client.ceph_arguments."""

import argparse
from unittest import mock

import fixtures

from cinder_rbd_ext.audit import run
from cinder_rbd_ext.client import ceph_arguments
from tests.unit import base


class CephArgumentsTest(base.TestCase):
    def parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_defaults(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF'))
        found = self.parsed()
        self.assertEqual('/etc/ceph/ceph.conf', found.ceph_conf)
        self.assertEqual('cinder', found.ceph_user)
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', '/x'))
        self.assertEqual('/x', self.parsed().ceph_conf)

    def test_connected(self) -> None:
        with mock.patch.object(run, 'connected', autospec=True) as connected:
            ceph_arguments.connected(self.parsed('--ceph-user', 'me'))
        self.assertEqual('me', connected.call_args.args[1])

    def test_libraries_that_are_missing(self) -> None:
        with mock.patch.object(
            run, 'connected', autospec=True, side_effect=ImportError('rados')
        ):
            error = self.assertRaises(
                RuntimeError, ceph_arguments.connected, self.parsed()
            )
        self.assertIn('Install python3-rados', str(error))
