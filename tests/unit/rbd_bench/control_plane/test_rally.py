# SPDX-License-Identifier: Apache-2.0

import configparser
import json
import pathlib

import fixtures

from rbd_bench import processes
from rbd_bench.control_plane import rally
from tests.unit import base
from tests.unit.rbd_bench.control_plane import stand_in
from tests.unit.rbd_bench.control_plane import users


class RallyTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.EnvironmentVariable('OS_PASSWORD', users.PASSWORD)
        )
        self.stand_in = stand_in.Rally(self.folder())
        self.scratch = self.folder()
        self.log_file = self.scratch / 'log'
        self.rally = rally.Rally(self.stand_in.program, self.scratch, 'prefix')

    def folder(self) -> pathlib.Path:
        return pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def run_task(self, poll: float = 1.0) -> list[int]:
        """Run a task and return the progress that was shown."""
        shown: list[int] = []
        self.found = self.rally.run(
            'a task', poll, self.log_file, shown.append
        )
        return shown

    def test_versions_of_rally_are_read(self) -> None:
        self.assertEqual(
            {'rally': '5.1.1', 'rally-openstack': '4.1.0'},
            self.rally.versions(),
        )

    def test_program_that_is_missing(self) -> None:
        missing = rally.Rally('/none/rally', self.scratch, 'prefix')
        error = self.assertRaises(processes.EngineError, missing.versions)
        self.assertIn('/none/rally is not installed', str(error))
        self.assertIn('--rally', str(error))

    def test_plugin_that_is_missing(self) -> None:
        self.stand_in.versions('Rally version: 5.1.1')
        error = self.assertRaises(processes.EngineError, self.rally.versions)
        self.assertIn('rally-openstack is not installed', str(error))

    def test_password_is_in_a_private_file_only(self) -> None:
        user = users.user()
        self.rally.prepare(user)
        self.assertEqual('0o600', self.stand_in.text('mode'))
        self.assertEqual(
            user.specification(),
            json.loads(self.stand_in.text('environment')),
        )
        self.assertNotIn(users.PASSWORD, str(self.stand_in.calls()))
        self.assertNotIn(users.PASSWORD, str(self.stand_in.environments()))

    def test_password_is_not_in_an_error(self) -> None:
        self.stand_in.fails('env', 'create')
        error = self.assertRaises(
            processes.EngineError, self.rally.prepare, users.user()
        )
        self.assertIn('rally env create ended with 1', str(error))
        self.assertIn('"username": "demo"', str(error))
        self.assertNotIn(users.PASSWORD, str(error))

    def test_run_returns_results_of_the_task(self) -> None:
        shown = self.run_task()
        self.assertEqual(stand_in.results(), self.found)
        self.assertEqual('a task', self.stand_in.text('task'))
        self.assertEqual(1, shown[-1])

    def test_configuration_has_own_database_and_timeouts(self) -> None:
        self.run_task(0.25)
        parser = configparser.ConfigParser()
        parser.read_string(self.stand_in.text('rally.conf'))
        self.assertEqual(
            f'sqlite:///{self.scratch}/rally.sqlite',
            parser['database']['connection'],
        )
        options = parser['openstack']
        for name in ('cinder_volume_create', 'cinder_volume_delete'):
            self.assertEqual('0.25', options[f'{name}_poll_interval'])
        self.assertEqual('0', options['cinder_volume_create_prepoll_delay'])
        self.assertEqual(
            '0.25', options['nova_server_resize_revert_poll_interval']
        )
        names = {
            parser['DEFAULT'][f'{each}_resource_name_format']
            for each in ('scenario', 'context')
        }
        self.assertEqual(
            {f'prefix-{each}-XXXXXXXX-XXXXXXXX' for each in 'sc'}, names
        )

    def test_failure_shows_output_of_rally(self) -> None:
        self.stand_in.fails('task', 'start')
        error = self.assertRaises(processes.EngineError, self.run_task)
        self.assertIn('rally ended with 1: sorry', str(error))

    def test_interrupt_aborts_the_task(self) -> None:
        self.stand_in.waits()

        def interrupt(done: int) -> None:
            if done:
                raise KeyboardInterrupt

        self.assertRaises(
            KeyboardInterrupt,
            self.rally.run,
            *('a task', 1.0, self.log_file, interrupt),
        )
        self.assertEqual(
            ['task', 'abort', stand_in.UUID], self.stand_in.calls()[-1][2:]
        )
        # rally has ended its task, and removed what it has created.
        self.assertTrue(self.stand_in.has_ended())

    def test_interrupt_before_the_task(self) -> None:
        def interrupt(done: int) -> None:
            raise KeyboardInterrupt

        (self.stand_in.folder / 'version').unlink()
        self.stand_in.fails('task', 'start')
        self.assertRaises(
            KeyboardInterrupt,
            self.rally.run,
            *('a task', 1.0, self.log_file, interrupt),
        )
        self.assertFalse(self.stand_in.has_ended())
