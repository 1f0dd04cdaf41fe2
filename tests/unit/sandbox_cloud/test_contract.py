# SPDX-License-Identifier: Apache-2.0

import socket

import fixtures

from sandbox_cloud import cloud
from sandbox_cloud import contract
from sandbox_cloud import errors
from sandbox_cloud import program
from sandbox_cloud import state
from tests import runs
from tests.unit.sandbox_cloud import base


@runs.tags(runs.RELEASES)
class UWSGITest(base.ServiceTestCase):
    def rendered(self, release: str, workers: int = 1) -> dict[str, str]:
        """Return the uWSGI configuration of a service of a release."""
        cinder = cloud.Cloud(self.state, release).services['cinder']
        cinder.etc.mkdir(parents=True, exist_ok=True)
        cinder.render_uwsgi('cinder.wsgi.api', workers=workers)
        return dict(self.read(cinder.etc / 'uwsgi.ini')['uwsgi'])

    def test_one_process_has_four_threads(self) -> None:
        options = self.rendered(state.releases()[-1])
        self.assertEqual('1', options['processes'])
        self.assertEqual('4', options['threads'])

    def test_processes_where_services_are_on_eventlet(self) -> None:
        for release in ('2025.1', '2026.1'):
            options = self.rendered(release)
            self.assertEqual('2', options['processes'])
            self.assertEqual('1', options['threads'])
            self.assertEqual('3', self.rendered(release, 3)['processes'])


class _Service(contract.Service):
    name = 'one'

    def programs(self) -> tuple[program.Program, ...]:
        return (program.Program('one-api', ('true',)),)


@runs.tags(runs.RELEASES)
class WaitTest(base.ServiceTestCase):
    """Waiting until a service is usable."""

    def setUp(self) -> None:
        super().setUp()
        self.check = self.useFixture(
            fixtures.MockPatchObject(
                self.cloud.runtime.supervisor, 'check', autospec=True
            )
        ).mock
        self.server = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.server.close)

    def service(self) -> contract.Service:
        """Return a service on the port of the test's socket."""

        class Service(_Service):
            ports = (self.server.getsockname()[1],)

        return Service(self.cloud.runtime, {})

    def test_wait_ends_when_the_service_listens(self) -> None:
        self.service().wait()
        self.check.assert_not_called()

    def test_wait_ends_when_the_service_has_ended(self) -> None:
        dead = self.service()
        self.server.close()
        self.check.side_effect = errors.SandboxError('one-api has ended')
        error = self.assertRaises(errors.SandboxError, dead.wait)
        self.assertIn('one-api has ended', str(error))
        self.check.assert_called_once_with('one-api')

    def test_never_listens(self) -> None:
        silent = self.service()
        self.server.close()
        self.useFixture(
            fixtures.MonkeyPatch('sandbox_cloud.contract._PATIENCE', 0)
        )
        error = self.assertRaises(errors.SandboxError, silent.wait)
        self.assertIn('one does not listen on port', str(error))
