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

from collections.abc import Mapping
from collections.abc import Sequence
from unittest import mock

import fixtures

from testrun import chroot
from testrun import environment
from testrun import outcome
from testrun import platform
from tests.unit import base


class PlatformTestCase(base.TestCase):
    """What is run inside, and what is made of it; the inside is canned."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        self.useFixture(fixtures.EnvironmentVariable('RBD_TEST_CASES'))
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))
        self.ran: list[tuple[list[str], dict[str, str]]] = []
        self.prints = 'a line\\n7 passed, 0 failed, 2 skipped\\n'

    def _command(
        self,
        place: chroot.Chroot,
        command: Sequence[str],
        environ: Mapping[str, str],
    ) -> list[str]:
        self.ran.append((list(command), dict(environ)))
        if 'functional' in command:
            return ['printf', self.prints]
        return ['true']

    def _run(self, *filters: str) -> outcome.Outcome:
        with (
            mock.patch.object(chroot.Chroot, 'prepare', autospec=True),
            mock.patch.object(chroot.Chroot, 'fill', autospec=True),
            mock.patch.object(
                chroot.Chroot,
                'command',
                autospec=True,
                side_effect=self._command,
            ),
        ):
            return platform.run(environment.Venv(), filters)

    def _tests(self) -> tuple[list[str], dict[str, str]]:
        (found,) = (ran for ran in self.ran if 'functional' in ran[0])
        return found

    def test_the_functional_tests_of_the_copy(self) -> None:
        self.assertEqual(outcome.Outcome(7, 0, 2), self._run())
        command, environ = self._tests()
        self.assertEqual(
            ['/srv/tree/tools/test', 'functional', '--release'], command[:3]
        )
        self.assertEqual([environment.RELEASE, '--'], command[3:])
        self.assertEqual({'RBD_TEST_CASES': '800'}, environ)
        self.shown.seek(0)
        self.assertIn('a line', self.shown.read())

    def test_what_was_interrupted_is_ended_first(self) -> None:
        self._run()
        self.assertEqual(['dpkg', '--configure', '-a'], self.ran[0][0])

    def test_selects(self) -> None:
        self._run('layout')
        self.assertEqual(['--', 'layout'], self._tests()[0][-2:])

    def test_as_many_cases_as_are_asked_for(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('RBD_TEST_CASES', '9'))
        self._run()
        self.assertEqual({'RBD_TEST_CASES': '9'}, self._tests()[1])

    def test_tests_that_end_without_a_count(self) -> None:
        self.prints = '7 passed, 0 failed, 2 skipped\\nno room left\\n'
        self.assertEqual(outcome.FAILED, self._run())

    def test_cannot_be_installed(self) -> None:
        with mock.patch.object(
            chroot.Chroot,
            'prepare',
            autospec=True,
            side_effect=environment.CannotPrepare('no network'),
        ):
            found = platform.run(environment.Venv(), [])
        self.assertEqual(outcome.FAILED, found)
