# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

from collections.abc import Sequence
import contextlib
import pathlib
import re
import time
from typing import Any
from typing import IO
from unittest import mock

import fixtures

from testrun import environment
from testrun import matrix
from testrun import outcome
from testrun import suite
from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[3]


class MatrixTestCase(base.TestCase):
    """Which suites run on which release; the suites are canned."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))
        self.missing: set[str] = set()
        self.ran: list[tuple[str, str, list[str]]] = []
        self.found = outcome.Outcome(passed=3)

    def _prepare(self, venv: environment.Venv) -> None:
        if venv.release in self.missing:
            raise environment.CannotPrepare('no network')

    def _suite(
        self,
        venv: environment.Venv,
        folder: str,
        filters: Sequence[str],
        show: IO[str],
        **how: Any,
    ) -> outcome.Outcome:
        self.assertEqual(matrix.NO_OPENSTACK, how.get('leave_out'))
        self.ran.append((venv.release, folder, list(filters)))
        print('a line', file=show)
        print('  ... 1 passed, 0 failed, 0 skipped so far', file=show)
        time.sleep(0.01)
        print('another', file=show)
        return self.found

    def _run(self, *filters: str, whole: bool = False) -> outcome.Outcome:
        with contextlib.ExitStack() as patches:
            for holder, name, substitute in (
                (environment.Venv, 'prepare', self._prepare),
                (environment.Venv, 'link_bindings', lambda venv: None),
                (suite, 'run_all', self._suite),
            ):
                patches.enter_context(
                    mock.patch.object(
                        holder, name, autospec=True, side_effect=substitute
                    )
                )
            run = matrix.run_all if whole else matrix.run
            return run(environment.Venv(), filters)

    def _lines(self) -> list[str]:
        self.shown.seek(0)
        lines: list[str] = self.shown.read().splitlines()
        return lines

    def test_all_of_it_on_the_oldest_release(self) -> None:
        found = self._run()
        oldest, *between = environment.RELEASES[:-1]
        (tests,) = matrix.BETWEEN['tests/unit']
        self.assertCountEqual(
            [
                (oldest, 'tests/unit', []),
                (oldest, 'tests/functional', []),
                *((release, 'tests/unit', [tests]) for release in between),
            ],
            self.ran,
        )
        self.assertEqual(6 + 3 * len(between), found.passed)
        self.assertEqual(
            [
                f'--- {oldest}: {outcome.Outcome(6)}',
                *(f'--- {each}: {outcome.Outcome(3)}' for each in between),
            ],
            self._lines()[-1 - len(between) :],
        )

    def _check_each(self, *filters: str) -> None:
        self.assertCountEqual(
            [
                (release, folder, [*filters])
                for release in environment.RELEASES[:-1]
                for folder in ('tests/unit', 'tests/functional')
            ],
            self.ran,
        )

    def test_all_of_it_on_each_older_release(self) -> None:
        self._run(whole=True)
        self._check_each()

    def test_a_filter_selects_on_each_older_release(self) -> None:
        self._run('layout')
        self._check_each('layout')

    def test_what_runs_on_those_between(self) -> None:
        (tests,) = matrix.BETWEEN['tests/unit']
        found = {
            path.stem
            for path in (_ROOT / 'tests' / 'unit').rglob('test_*.py')
            if re.search(tests, f'.{path.stem}.')
        }
        self.assertEqual(
            {
                'test_contract',
                'test_driver_stock_suites',
                'test_hooks_contract',
                'test_hooks_stock_suite',
                'test_releases',
                'test_releases_contract',
                'test_store_stock_suites',
                'test_volume_stock_suites',
            },
            found,
        )

    def test_a_failure_names_its_release(self) -> None:
        self.found = outcome.Outcome(failed=1, failures=['a.test: a cause'])
        oldest = environment.RELEASES[0]
        self.assertIn(f'{oldest}: a.test: a cause', self._run().failures)

    def test_what_a_suite_shows_stays_together(self) -> None:
        self._run()
        lines = self._lines()
        first = [at for at, line in enumerate(lines) if line == 'a line']
        self.assertEqual(len(self.ran), len(first))
        for at in first:
            self.assertEqual('another', lines[at + 1])
            self.assertIn(f': {self.found}, ', lines[at + 2])

    def test_a_release_that_cannot_be_installed(self) -> None:
        self.missing = {environment.RELEASES[0]}
        found = self._run()
        self.assertEqual(1, found.failed)
        self.assertNotIn(environment.RELEASES[0], [ran[0] for ran in self.ran])
        self.assertIn(environment.RELEASES[1], [ran[0] for ran in self.ran])

    def test_a_folder_in_which_nothing_ran(self) -> None:
        self.found = outcome.Outcome(skipped=5)
        older = environment.RELEASES[:-1]
        self.assertEqual(1 + len(older), self._run().failed)
        self.assertEqual(0, self._run('elsewhere').failed)

    def test_what_is_left_out_is_there(self) -> None:
        for name in matrix.NO_OPENSTACK:
            path = _ROOT / name.rstrip('.').replace('.', '/')
            self.assertTrue(
                path.is_dir() or path.with_suffix('.py').is_file(), name
            )
