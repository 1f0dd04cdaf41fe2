# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_operator.commands.ceph_cluster."""

import argparse
from unittest import mock

from rbd_command_line import ceph_arguments
from rbd_operator.audit import run
from rbd_operator.commands import ceph_cluster
from tests.unit import base


class CephClusterTest(base.TestCase):
    def _parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_user_of_the_options_connects(self) -> None:
        with mock.patch.object(run, 'connected', autospec=True) as connected:
            ceph_cluster.connected(self._parsed('--ceph-user', 'me'))
        self.assertEqual('me', connected.call_args.args[1])

    def test_missing_libraries_are_named_with_their_packages(self) -> None:
        with mock.patch.object(
            run, 'connected', autospec=True, side_effect=ImportError('rados')
        ):
            error = self.assertRaises(
                RuntimeError, ceph_cluster.connected, self._parsed()
            )
        self.assertIn('Install python3-rados', str(error))
