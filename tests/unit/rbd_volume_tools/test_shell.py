# SPDX-License-Identifier: Apache-2.0

import contextlib
from importlib import metadata
import io
import os
from unittest import mock

import ddt
import fixtures
from keystoneauth1 import exceptions as keystone
import openstack

from rbd_volume_tools import shell
from tests.unit import base


@ddt.ddt
class HelpTest(base.TestCase):
    def _run(self, *words: str) -> tuple[int, str]:
        shown = io.StringIO()
        with (
            mock.patch(
                'importlib.metadata.version', autospec=True, return_value='1'
            ),
            contextlib.redirect_stdout(shown),
        ):
            status = shell.main(words)
        return status, ' '.join(shown.getvalue().split())

    @ddt.data(
        'help types ensure',
        'types ensure --help',
        'types ensure -h',
        'types ensure --name a --help',
        'types ensure -f json --help',
        '--help types ensure',
    )
    def test_of_a_command(self, line: str) -> None:
        status, text = self._run(*line.split())
        self.assertEqual(0, status)
        for once in (
            'usage: ',
            ' --name <name> Name',
            ' Existing volume types',
        ):
            self.assertEqual(1, text.count(once), text)

    def test_without_a_command(self) -> None:
        """Fail without arguments, so that a script does not continue."""
        status, text = self._run()
        self.assertEqual(3, status)
        self.assertIn('types ensure', text)

    @ddt.data(
        *('audit --none-such', '--none-such audit', 'audits', 'clean'),
        '--log-file /none/such audit',
    )
    def test_wrong_command_line_is_not_a_finding(self, line: str) -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            status, _ = self._run(*line.split())
        self.assertEqual(3, status)

    @ddt.data('--help', 'help')
    def test_of_the_program(self, word: str) -> None:
        status, text = self._run(word)
        self.assertEqual(0, status)
        self.assertEqual(1, text.count('Commands:'))

    def test_unknown_command(self) -> None:
        status, text = self._run('types')
        self.assertEqual(3, status)
        self.assertIn('types ensure', text)


class CloudTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        for name in [*os.environ]:
            if name.startswith('OS_'):
                self.useFixture(fixtures.EnvironmentVariable(name))
        self.useFixture(
            fixtures.EnvironmentVariable(
                'OS_CLIENT_CONFIG_FILE', f'{folder}/none.yaml'
            )
        )
        self.err = io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', self.err))
        patch = mock.patch.object(
            metadata, 'version', autospec=True, return_value='1'
        )
        patch.start()
        self.addCleanup(patch.stop)

    def test_no_cloud_is_selected(self) -> None:
        # Before it connects to Ceph.
        self.assertEqual(3, shell.main(['audit', '--ceph-conf', '/none']))
        self.assertIn('Set --os-cloud or OS_CLOUD', self.err.getvalue())

    def test_user_who_is_no_administrator(self) -> None:
        cloud = mock.MagicMock()
        cloud.block_storage.get.return_value.status_code = 403
        patch = mock.patch.object(
            shell.Shell, 'cloud', autospec=True, return_value=cloud
        )
        with patch:
            self.assertEqual(3, shell.main(['audit']))
        self.assertIn('not an administrator', self.err.getvalue())

    def test_unknown_cloud(self) -> None:
        self.assertEqual(3, shell.main(['--os-cloud', 'mine', 'audit']))
        self.assertIn('Could not sign in', self.err.getvalue())
        self.assertIn('mine', self.err.getvalue())

    def test_api_that_does_not_respond_ends_the_command(self) -> None:
        session = mock.MagicMock(timeout=None)
        cloud = mock.MagicMock(session=session)
        cloud.authorize.side_effect = keystone.ConnectTimeout('timed out')
        self.useFixture(fixtures.EnvironmentVariable('OS_CLOUD', 'mine'))
        connect = mock.patch.object(
            openstack, 'connect', autospec=True, return_value=cloud
        )
        with connect:
            self.assertEqual(3, shell.main(['audit']))
            self.assertEqual(60, session.timeout)
            # api_timeout of clouds.yaml.
            session.timeout = 5.0
            shell.main(['audit'])
        self.assertEqual(5, session.timeout)
        self.assertIn('not sign in to the cloud: ', self.err.getvalue())
