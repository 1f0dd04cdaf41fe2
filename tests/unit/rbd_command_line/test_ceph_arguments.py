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

"""Unit tests of rbd_command_line.ceph_arguments."""

import argparse

import fixtures

from rbd_command_line import ceph_arguments
from tests.unit import base


class CephArgumentsTest(base.TestCase):
    def parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_defaults_follow_ceph_conf(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF'))
        found = self.parsed()
        self.assertEqual('/etc/ceph/ceph.conf', found.ceph_conf)
        self.assertEqual('cinder', found.ceph_user)
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', '/x'))
        self.assertEqual('/x', self.parsed().ceph_conf)
