# SPDX-License-Identifier: Apache-2.0

import argparse
from unittest import mock

import ddt
import fixtures

from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import command_options as audit_options
from tests.unit import base


@ddt.ddt
class AuditOptionsTest(base.TestCase):
    def parsed(self, *words: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        audit_options.add(parser)
        return parser.parse_args(words)

    def test_defaults_come_from_environment(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', '/x'))
        self.assertEqual(
            {
                'ceph_conf': '/x',
                'ceph_user': 'cinder',
                'pool': None,
                'no_cloud': False,
                'workers': 8,
            },
            vars(self.parsed()),
        )

    @ddt.data('0', '65', 'x')
    def test_number_of_workers_is_limited(self, number: str) -> None:
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', mock.MagicMock()))
        self.assertRaises(SystemExit, self.parsed, '--workers', number)

    def test_timeout_reaches_the_audit(self) -> None:
        connected = mock.patch.object(
            ceph_cluster, 'connected', autospec=True, side_effect=OSError
        )
        with connected as called:
            self.assertRaises(
                OSError,
                audit_options.audited,
                mock.MagicMock(),
                self.parsed(),
                timeout=7,
            )
        called.assert_called_once_with(self.parsed(), 7)
