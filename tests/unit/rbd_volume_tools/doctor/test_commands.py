# SPDX-License-Identifier: Apache-2.0

import pathlib

import fixtures

from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import commands as doctor
from rbd_volume_tools.doctor import run
from tests.unit.rbd_volume_tools.doctor import hosts
from tests.unit.rbd_volume_tools.fleet import commands

_S = findings.Severity


class DoctorTest(commands.CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.found = [
            findings.Finding('a', 'seen'),
            findings.Finding('b', '\x1b[1m', _S.NOTICE, 'do'),
        ]
        self.replace(run, 'check', return_value=self.found)
        folder = self.useFixture(fixtures.TempDir()).path
        self.conf = str(hosts.conf(folder, hosts.CINDER))
        none = dict.fromkeys(('cinder', 'glance', 'nova'), f'{folder}/none')
        self.useFixture(
            fixtures.MonkeyPatch(
                'rbd_volume_tools.doctor.commands._FILES', none
            )
        )

    def check(self, *words: str) -> int:
        return self.run_plain('doctor', *words)

    def test_status_follows_worst_finding(self) -> None:
        self.found.append(findings.Finding('c', 'd', _S.WARNING))
        self.assertEqual(1, self.check('--nova-config', self.conf))
        self.found.append(findings.Finding('c', 'd', _S.ERROR))
        self.assertEqual(2, self.check('--glance-config', self.conf))

    def test_nothing_to_check(self) -> None:
        self.assertEqual(exit_status.COMMAND, self.check())
        self.assertIn('Nothing to check', self.err.getvalue())

    def test_endpoint_without_credentials_is_refused(self) -> None:
        words = ('--cinder-config', self.conf, '--api-endpoint', 'http://a/v3')
        for name in ('OS_CLOUD', 'OS_AUTH_URL'):
            self.useFixture(fixtures.EnvironmentVariable(name))
        self.assertEqual(exit_status.COMMAND, self.check(*words))
        self.assertIn('needs the credentials', self.err.getvalue())
        self.useFixture(fixtures.EnvironmentVariable('OS_CLOUD', 'admin'))
        self.assertEqual(0, self.check(*words))
        self.assertEqual(exit_status.COMMAND, self.check(*words, '--no-cloud'))

    def test_file_that_is_missing(self) -> None:
        self.assertEqual(3, self.check('--cinder-config', '/none'))
        self.assertIn('/none', self.err.getvalue())

    def test_default_file(self) -> None:
        doctor._FILES['cinder'] = self.conf
        self.assertEqual(0, self.check())
        self.assertTrue(pathlib.Path(self.conf).is_file())
