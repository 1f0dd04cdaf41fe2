# SPDX-License-Identifier: Apache-2.0

import contextlib
from importlib import metadata
import io
import json
import pathlib
import sys
from typing import Any
from unittest import mock

import ddt
import fixtures

from rbd_bench import results
from rbd_volume_tools import shell
from tests.unit import base
from tests.unit.rbd_bench import installed_commands
from tests.unit.rbd_bench import samples


@ddt.ddt
class BenchTest(base.TestCase):
    """cinder-rbd-ext bench."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(installed_commands.InstalledCommands())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        patch = mock.patch.object(
            metadata, 'version', autospec=True, return_value='1'
        )
        patch.start()
        self.addCleanup(patch.stop)

    def run_command(self, *words: str) -> tuple[int, str]:
        shown = io.StringIO()
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
        ):
            status = shell.main(['bench', *words])
        return status, shown.getvalue()

    def rows(self, *words: str) -> Any:
        text = self.run_command(*words, '-f', 'json')[1]
        return json.loads(text[text.index('[') :])

    def test_plans_command_lists_shipped_plans(self) -> None:
        sizes = {row['Plan']: row['Data'] for row in self.rows('plans')}
        # Formats for programs have bytes.
        self.assertEqual(0, sizes['switch-object-map'])
        self.assertEqual(0, sizes['cern-2013'] % 2**20)
        self.assertIn(' MiB | ', self.run_command('plans')[1])

    def test_dry_run(self) -> None:
        status, text = self.run_command(
            *('run', 'cern-2013', '--pool', 'volumes', '--dry-run'),
            *('--select', 'run=caches', '--select', 'cache_mode=none'),
        )
        self.assertEqual(0, status)
        self.assertEqual(4, len(text.splitlines()))

    @ddt.data(
        (['run', 'none-such'], 'no such plan'),
        (['run', 'cern-2013', '--select', 'x=y'], '--select = '),
        (['run', 'cern-2013', '--runtime', '0'], 'options.runtime'),
        (['run', 'cern-2013', '--image-size', '8GB'], 'options.image_size'),
        (['report', '/none/such'], 'results.json'),
    )
    @ddt.unpack
    def test_invalid_options_are_named(
        self, words: list[str], expected: str
    ) -> None:
        more = ['--pool', 'volumes', '--dry-run'] if words[0] == 'run' else []
        status, text = self.run_command(*words, *more)
        self.assertEqual(1, status)
        self.assertIn(expected, text)

    def test_missing_library(self) -> None:
        with mock.patch.dict(sys.modules, {'yaml': None}):
            for name in list(sys.modules):
                if name.startswith('rbd_bench'):
                    del sys.modules[name]
            status, text = self.run_command('plans')
        self.assertEqual(1, status)
        self.assertIn('Install rbd-volume-options[bench]', text)

    def test_compare_command_shows_ratio_of_two_results(self) -> None:
        folders = []
        for place, rate in enumerate((100.0, 200.0)):
            folders.append(str(self.folder / str(place)))
            measured = samples.found(*samples.thrice(rate))
            results.save(pathlib.Path(folders[-1]), measured)
        (row,) = self.rows('compare', *folders)
        self.assertEqual('faster', row['Result'])
        self.assertAlmostEqual(2, row['Ratio'], delta=0.02)

    def test_compare_without_a_measurement(self) -> None:
        folders = [str(self.folder / each) for each in ('one', 'other')]
        more = samples.sample(1.0, layout='striped')
        for folder, each in zip(folders, ([], [more]), strict=True):
            measured = samples.found(*samples.thrice(1.0), *each)
            results.save(pathlib.Path(folder), measured)
        row = self.rows('compare', *folders)[1]
        self.assertEqual(
            (None, 1.0, None, 'not measured in the first'),
            tuple(row[x] for x in ('First', 'Second', 'Ratio', 'Result')),
        )

    def test_report_of_a_plan_of_the_operator(self) -> None:
        measured = samples.found(samples.sample(1.0))
        results.save(self.folder, measured)
        status, text = self.run_command('report', str(self.folder))
        self.assertEqual(0, status, text)
        self.assertTrue((self.folder / 'report.html').exists())
