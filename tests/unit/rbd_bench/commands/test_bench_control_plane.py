# SPDX-License-Identifier: Apache-2.0

from importlib import metadata
import io
import json
import os
import pathlib
import types
from typing import Any
from unittest import mock

import ddt
import fixtures

from rbd_bench import processes
from rbd_bench import results
from rbd_bench.control_plane import rally
from rbd_volume_tools import shell
from tests.unit import base
from tests.unit.rbd_bench import installed_commands
from tests.unit.rbd_bench.control_plane import stand_in
from tests.unit.rbd_bench.control_plane import users

_SHORT = ('--at-once', '2', '--rounds', '2', '--times', '2')


@ddt.ddt
class BenchControlPlaneTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(installed_commands.InstalledCommands())
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.stand_in = stand_in.Rally(folder)
        self.output = folder / 'output'
        self.connection = users.connection()
        self.replace(metadata, 'version', return_value='1')
        self.cloud = self.replace(
            shell.Shell, 'cloud', return_value=self.connection
        )
        self.out, self.err = io.StringIO(), io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.out))
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', self.err))

    def replace(self, owner: Any, name: str, **kwargs: Any) -> Any:
        patch = mock.patch.object(owner, name, autospec=True, **kwargs)
        self.addCleanup(patch.stop)
        return patch.start()

    def run_command(self, *words: str) -> int:
        return shell.main(
            [
                *('bench', 'control-plane', '--types', 'stock', 'rbd'),
                *('--rally', self.stand_in.program),
                *('--output', str(self.output), *_SHORT, *words),
            ]
        )

    def test_table_has_a_row_for_each_operation(self) -> None:
        status = self.run_command('-f', 'json')
        self.assertEqual(0, status, self.err.getvalue())
        rows = json.loads(self.out.getvalue())
        self.assertEqual(
            [
                ('create-and-delete', 'create'),
                ('create-and-delete', 'delete'),
                ('create-from-volume', 'create'),
                ('create-from-volume', 'delete'),
                ('create-volume-and-clone', 'create'),
                ('create-volume-and-clone', 'clone'),
            ],
            [(each['Scenario'], each['Action']) for each in rows],
        )
        for each in rows:
            self.assertEqual((2, 0), (each['At once'], each['Failed']))
            self.assertAlmostEqual(
                each['First'] / each['Second'], each['Ratio'], delta=0.01
            )

    def test_report_names_versions_and_project(self) -> None:
        self.run_command()
        report = (self.output / 'control-plane.md').read_text()
        self.assertIn('- rally-openstack: `4.1.0`', report)
        self.assertIn('- project: `project`', report)
        self.assertIn('started', (self.output / 'rally-2.log').read_text())
        shown = self.err.getvalue()
        self.assertIn(str(self.output / 'control-plane.json'), shown)
        self.assertIn('create-and-attach: not run; it needs --image', shown)

    def test_nothing_private_remains(self) -> None:
        self.run_command()
        scratch = pathlib.Path(self.stand_in.calls()[-1][1]).parent
        self.assertFalse(scratch.exists())
        for path in self.output.iterdir():
            self.assertNotIn(users.PASSWORD, path.read_text())
        self.assertNotIn(users.PASSWORD, self.out.getvalue())
        self.assertNotIn(users.PASSWORD, self.err.getvalue())

    def test_task_for_each_level(self) -> None:
        self.run_command('--at-once', '1', '2')
        started = [x for x in self.stand_in.calls() if 'start' in x]
        self.assertEqual(2, len(started))

    def test_dry_run(self) -> None:
        status = self.run_command(
            *('--dry-run', '--image', 'tiny', '--flavor', 'small'),
            *('--network', 'net', '--servers-at-once', '3'),
        )
        self.assertEqual(0, status)
        shown = self.out.getvalue()
        self.assertIn('"create-and-attach/3/second/1"', shown)
        self.assertIn('"net-id": "net"', shown)
        self.assertNotIn('not run', self.err.getvalue())
        self.cloud.assert_not_called()
        self.assertFalse(self.output.exists())

    def test_dry_run_as_json(self) -> None:
        self.assertEqual(0, self.run_command('--dry-run', '-f', 'json'))
        (row,) = json.loads(self.out.getvalue())
        self.assertEqual(2, row['At once'])
        self.assertEqual(2, row['Task']['version'])
        self.assertIn('subtasks', row['Task'])

    @ddt.data(
        (('--at-once', '0'), 'options.at_once'),
        (('--size', '0'), 'options.size'),
        (('--plan', '/none/such'), '--plan'),
        (('--rally', '/none/rally'), '/none/rally is not installed'),
        (('--types', 'stock', 'rdb'), '--types'),
        (('--times', '100'), 'quota volumes'),
    )
    @ddt.unpack
    def test_invalid_options_are_named(
        self, words: tuple[str, ...], expected: str
    ) -> None:
        self.assertEqual(1, self.run_command(*words))
        self.assertIn(expected, self.err.getvalue())

    def test_folder_of_another_run_is_refused(self) -> None:
        with results.locked(self.output):
            self.assertEqual(1, self.run_command())
        self.assertIn('in use by another run', self.err.getvalue())
        self.cloud.assert_not_called()

    def test_failure_of_rally(self) -> None:
        self.stand_in.fails('task', 'start')
        self.assertEqual(1, self.run_command())
        self.assertIn('rally ended with 1', self.err.getvalue())
        self.assertNotIn('have ended', self.err.getvalue())

    def levels(self, failure: BaseException) -> tuple[int, str]:
        """Run two levels, of which the second fails."""
        self.replace(
            rally.Rally, 'run', side_effect=[stand_in.results(), failure]
        )
        status = self.run_command('--at-once', '2', '4')
        return status, self.err.getvalue()

    @ddt.data(
        (processes.EngineError('rally ended with 1'), 'ended with 1'),
        (KeyboardInterrupt(), 'Interrupted'),
    )
    @ddt.unpack
    def test_failure_of_a_later_level(
        self, failure: BaseException, expected: str
    ) -> None:
        status, shown = self.levels(failure)
        self.assertEqual(1, status)
        self.assertIn(expected, shown)
        self.assertIn('levels that have ended are in', shown)
        content = json.loads((self.output / 'control-plane.json').read_text())
        self.assertEqual(12, len(content['samples']))
        text = (self.output / 'control-plane.md').read_text()
        self.assertRegex(text, r'create \| 2 \| [\d.]+ \|')
        self.assertIn('create | 4 |  |  |  |  |  | not measured', text)

    def test_interrupted_run_names_what_was_not_removed(self) -> None:
        self.replace(rally.Rally, 'run', side_effect=KeyboardInterrupt)
        self.connection.block_storage.volumes = lambda details: [
            types.SimpleNamespace(id='a-volume', name=self.prefix())
        ]
        self.assertEqual(1, self.run_command())
        shown = self.err.getvalue()
        self.assertIn('Interrupted', shown)
        self.assertIn('Not removed by rally: volume a-volume', shown)

    def prefix(self) -> str:
        """Return the beginning of names in rally's configuration."""
        for line in self.stand_in.text('rally.conf').splitlines():
            name, _, value = line.partition(' = ')
            if name == 'scenario_resource_name_format':
                return value
        raise AssertionError('no name')

    def test_environment_of_rally(self) -> None:
        with mock.patch.dict(os.environ, {'OS_PASSWORD': users.PASSWORD}):
            self.run_command()
        self.assertNotIn(users.PASSWORD, str(self.stand_in.environments()))
