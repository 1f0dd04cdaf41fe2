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
from typing import Any
from unittest import mock

import fixtures

from testrun import environment
from testrun import matrix
from testrun import outcome
from testrun import suite
from tests.unit import base


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
        filters: Sequence[str] = (),
        **how: Any,
    ) -> outcome.Outcome:
        self.ran.append((venv.release, folder, list(filters)))
        return self.found

    def _run(self, *filters: str) -> outcome.Outcome:
        with contextlib.ExitStack() as patches:
            for holder, name, substitute in (
                (environment.Venv, 'prepare', self._prepare),
                (environment.Venv, 'link_bindings', lambda venv: None),
                (suite, 'run', self._suite),
            ):
                patches.enter_context(
                    mock.patch.object(
                        holder, name, autospec=True, side_effect=substitute
                    )
                )
            return matrix.run(environment.Venv(), filters)

    def test_each_older_release(self) -> None:
        found = self._run('layout')
        older = environment.RELEASES[:-1]
        self.assertEqual(
            [
                (release, folder, ['layout'])
                for release in older
                for folder in ('tests/unit', 'tests/functional')
            ],
            self.ran,
        )
        self.assertEqual(6 * len(older), found.passed)

    def test_a_release_that_cannot_be_installed(self) -> None:
        self.missing = {environment.RELEASES[0]}
        found = self._run()
        self.assertEqual(1, found.failed)
        self.assertNotIn(environment.RELEASES[0], [ran[0] for ran in self.ran])
        self.assertIn(environment.RELEASES[1], [ran[0] for ran in self.ran])

    def test_a_release_on_which_nothing_ran(self) -> None:
        self.found = outcome.Outcome(skipped=5)
        self.assertEqual(len(environment.RELEASES) - 1, self._run().failed)
        self.assertEqual(0, self._run('elsewhere').failed)
