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

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import pathlib
from typing import Any
from unittest import mock

import fixtures

from testrun import __main__ as command
from testrun import environment
from testrun import outcome
from testrun import parts
from tests.unit import base


class CommandTestCase(base.TestCase):
    """The runner with parts of our own in place of the real ones."""

    def setUp(self) -> None:
        super().setUp()
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))
        self.useFixture(
            fixtures.MonkeyPatch(
                'testrun.__main__._prepare', lambda part, venv: None
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'testrun.sandbox.ended_after', self._sandbox_ended_after
            )
        )
        self.ran: list[tuple[str, list[str]]] = []
        self.venvs: list[environment.Venv] = []

    @contextlib.contextmanager
    def _sandbox_ended_after(self) -> Iterator[None]:
        yield
        self.ran.append(('sandbox ended', []))

    def _part(self, name: str, found: outcome.Outcome, **how: Any) -> None:
        def run(
            venv: environment.Venv, filters: Sequence[str]
        ) -> outcome.Outcome:
            self.venvs.append(venv)
            self.ran.append((name, list(filters)))
            return found

        part = parts.Part(name, 'a part of a test', run, **how)
        self.parts = (*getattr(self, 'parts', ()), part)
        self.useFixture(
            fixtures.MonkeyPatch('testrun.parts.PARTS', self.parts)
        )

    @property
    def releases(self) -> list[str]:
        return [venv.release for venv in self.venvs]

    def _last_line(self) -> str:
        self.shown.seek(0)
        lines: list[str] = self.shown.read().splitlines()
        return lines[-1]

    def test_all_parts_run_even_after_a_failure(self) -> None:
        self._part('one', outcome.FAILED)
        self._part('two', outcome.Outcome(5, 0, 2))
        self.assertEqual(1, command.main([]))
        self.assertEqual([('one', []), ('two', [])], self.ran)
        self.assertEqual('5 passed, 1 failed, 2 skipped', self._last_line())

    def test_named_parts_only(self) -> None:
        self._part('one', outcome.PASSED)
        self._part('two', outcome.PASSED)
        self.assertEqual(0, command.main(['two']))
        self.assertEqual([('two', [])], self.ran)
        self.assertEqual('1 passed, 0 failed, 0 skipped', self._last_line())

    def test_filters_reach_the_parts_that_select(self) -> None:
        self._part('checks', outcome.PASSED, selects=False)
        self._part('tests', outcome.PASSED)
        command.main(['--', 'layout', '--other'])
        self.assertEqual([('tests', ['layout', '--other'])], self.ran)

    def test_a_part_that_ran_nothing_has_failed(self) -> None:
        self._part('one', outcome.PASSED)
        self._part('empty', outcome.Outcome(skipped=4))
        self.assertEqual(1, command.main([]))
        self.assertEqual('1 passed, 1 failed, 4 skipped', self._last_line())

    def test_a_filter_that_selects_nothing_anywhere_fails(self) -> None:
        self._part('one', outcome.Outcome())
        self.assertEqual(1, command.main(['--', 'nothing']))
        self.assertEqual('0 passed, 0 failed, 0 skipped', self._last_line())

    def test_what_cannot_be_installed_is_a_failure(self) -> None:
        def refuse(part: parts.Part, venv: environment.Venv) -> None:
            raise environment.CannotPrepare('no network')

        self.useFixture(
            fixtures.MonkeyPatch('testrun.__main__._prepare', refuse)
        )
        self._part('one', outcome.PASSED)
        self.assertEqual(1, command.main([]))
        self.assertEqual([], self.ran)
        self.assertEqual('0 passed, 1 failed, 0 skipped', self._last_line())

    def test_an_unknown_part_is_named(self) -> None:
        self._part('one', outcome.PASSED)
        error = self.assertRaises(SystemExit, command.main, ['onne'])
        self.assertIn('no part onne; there are: one', str(error))

    def test_the_newest_release_unless_another_is_asked_for(self) -> None:
        self._part('one', outcome.PASSED)
        command.main([])
        self.assertEqual([environment.RELEASE], self.releases)

    def test_another_release(self) -> None:
        self._part('checks', outcome.PASSED)
        self._part('tests', outcome.PASSED, any_release=True)
        self.assertEqual(0, command.main(['--release', '2025.1']))
        self.assertEqual([('tests', [])], self.ran)
        self.assertEqual(['2025.1'], self.releases)

    def test_an_environment_that_is_made_already(self) -> None:
        self._part('one', outcome.PASSED)
        command.main(['--venv', 'made'])
        (venv,) = self.venvs
        self.assertFalse(venv.ours)
        self.assertEqual(
            str(pathlib.Path('made/bin/x').absolute()), venv.program('x')
        )

    def test_a_part_that_has_to_be_named(self) -> None:
        self._part('one', outcome.PASSED)
        self._part('long', outcome.PASSED, by_default=False)
        command.main([])
        command.main(['long'])
        self.assertEqual([('one', []), ('long', [])], self.ran)

    def test_a_part_that_is_for_the_newest_release_only(self) -> None:
        self._part('checks', outcome.PASSED)
        error = self.assertRaises(
            SystemExit, command.main, ['checks', '--release', '2025.1']
        )
        self.assertIn(f'checks: on {environment.RELEASE} only', str(error))

    def test_parts_on_the_sandbox_share_it(self) -> None:
        self._part('one', outcome.PASSED)
        self._part('two', outcome.FAILED, sandbox=True)
        self._part('three', outcome.PASSED, sandbox=True)
        self._part('four', outcome.PASSED)
        command.main(['one', 'two', 'three', 'four'])
        self.assertEqual(
            ['one', 'two', 'three', 'sandbox ended', 'four'],
            [name for name, _ in self.ran],
        )

    def test_another_release_has_a_sandbox_of_its_own(self) -> None:
        self._part('one', outcome.PASSED, sandbox=True)
        self._part('two', outcome.PASSED, sandbox=True, release='2025.1')
        command.main(['one', 'two'])
        self.assertEqual(
            ['one', 'sandbox ended', 'two', 'sandbox ended'],
            [name for name, _ in self.ran],
        )
        self.assertEqual([environment.RELEASE, '2025.1'], self.releases)

    def test_a_failure_on_another_release_says_so(self) -> None:
        failed = outcome.Outcome(failed=1, failures=['a test: its cause'])
        self._part('one', failed, release='2025.1')
        command.main(['one'])
        self.shown.seek(0)
        self.assertIn('failed: 2025.1: a test: its cause\n', self.shown)

    def _lanes(self, *arguments: str) -> None:
        self._part('one', outcome.PASSED)
        self._part('two', outcome.PASSED, sandbox=True)
        self._part('three', outcome.PASSED)

        def run(
            wanted: Mapping[str, Sequence[str]], arguments: Sequence[str]
        ) -> outcome.Outcome:
            self.lanes, self.arguments = wanted, arguments
            return outcome.PASSED

        self.useFixture(fixtures.MonkeyPatch('testrun.lanes.run', run))
        self.assertEqual(0, command.main(arguments))

    def test_the_sandbox_goes_beside_the_others(self) -> None:
        self._lanes('--release', environment.RELEASE, '--', 'layout')
        self.assertEqual(
            {'others': ['one', 'three'], 'sandbox': ['two']}, self.lanes
        )
        self.assertEqual(
            ['--release', environment.RELEASE, '--', 'layout'], self.arguments
        )
        self.assertEqual([], self.ran)

    def test_both_sides_get_the_environment_that_is_made_already(self) -> None:
        self._lanes('--venv', 'made')
        self.assertEqual(
            ['--release', environment.RELEASE, '--venv', 'made', '--'],
            self.arguments,
        )

    def test_named_parts_run_one_after_the_other(self) -> None:
        self._lanes('three', 'two', 'one')
        self.assertEqual(
            ['one', 'two', 'sandbox ended', 'three'],
            [name for name, _ in self.ran],
        )

    def test_the_sandbox_is_not_ended_where_nothing_uses_it(self) -> None:
        self._part('one', outcome.PASSED)
        self._part('two', outcome.PASSED, sandbox=True)
        command.main(['one'])
        self.assertEqual([('one', [])], self.ran)


class PrepareTestCase(base.TestCase):
    """What is installed for a part; nothing really is."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', shown))
        self.called = mock.Mock()
        for name in 'prepare', 'link_bindings':
            self._patch(environment.Venv, name)
        self._patch(environment.MadeVenv, 'prepare')
        self._patch(environment, 'install_packages')

    def _patch(self, holder: object, name: str) -> None:
        patch = mock.patch.object(holder, name, autospec=True)
        self.called.attach_mock(patch.start(), name)
        self.addCleanup(patch.stop)

    def _prepared(self, *arguments: str, **how: Any) -> list[str]:
        part = parts.Part(
            'one', 'of a test', lambda venv, filters: outcome.PASSED, **how
        )
        self.useFixture(fixtures.MonkeyPatch('testrun.parts.PARTS', (part,)))
        self.assertEqual(0, command.main([*arguments]))
        return [call[0] for call in self.called.mock_calls]

    def test_packages_and_environment(self) -> None:
        self.assertEqual(
            ['install_packages', 'prepare'],
            self._prepared(packages='platform'),
        )
        self.called.install_packages.assert_called_once_with('platform')

    def test_a_part_with_environments_of_its_own(self) -> None:
        self.assertEqual(['install_packages'], self._prepared(venv=False))

    def test_bindings_of_ceph(self) -> None:
        self.assertEqual(
            ['install_packages', 'prepare', 'link_bindings'],
            self._prepared(ceph=True),
        )

    def test_nothing_in_an_environment_that_is_made_already(self) -> None:
        self.assertEqual(['prepare'], self._prepared('--venv', 'made'))
