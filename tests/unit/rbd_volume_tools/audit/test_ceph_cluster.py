# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from unittest import mock

from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import ceph_arguments
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import stubs


class CephClusterTest(base.TestCase):
    def _parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_user_of_the_options_connects(self) -> None:
        pool = stubs.Pool()
        pool.refused = True
        parsed = self._parsed('--ceph-user', 'me', '--ceph-conf', 'c')
        with mock.patch.dict(sys.modules, {'rados': pool, 'rbd': pool}):
            cluster = ceph_cluster.connected(parsed, 7)
        error = self.assertRaises(scan.NotConnected, cluster.fsid)
        self.assertIn('as client.me with c', str(error))
        self.assertIn('7', pool.options.values())

    def test_missing_libraries_are_named_with_their_packages(self) -> None:
        with mock.patch.dict(sys.modules, {'rados': None}):
            error = self.assertRaises(
                RuntimeError, ceph_cluster.connected, self._parsed()
            )
        self.assertIn('Install python3-rados', str(error))
