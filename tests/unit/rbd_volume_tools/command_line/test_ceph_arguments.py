# SPDX-License-Identifier: Apache-2.0

import argparse

import fixtures

from rbd_volume_tools.command_line import ceph_arguments
from tests.unit import base


class CephArgumentsTest(base.TestCase):
    def parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_defaults_follow_ceph_conf(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF'))
        args = self.parsed()
        self.assertEqual('/etc/ceph/ceph.conf', args.ceph_conf)
        self.assertEqual('cinder', args.ceph_user)
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', '/x'))
        self.assertEqual('/x', self.parsed().ceph_conf)
