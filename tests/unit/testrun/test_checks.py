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

import os

import fixtures

from testrun import checks
from testrun import environment
from testrun import outcome
from tests.unit import base


class ChecksTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _run(self, *command: str) -> tuple[outcome.Outcome, str]:
        found = checks.run(checks.Check('it', command), dict(os.environ))
        self.shown.seek(0)
        return found, self.shown.read()

    def test_passes_quietly(self) -> None:
        found, output = self._run('sh', '-c', 'echo noise')
        self.assertEqual(outcome.PASSED, found)
        self.assertNotIn('noise', output)

    def test_fails_with_what_it_printed(self) -> None:
        found, output = self._run('sh', '-c', 'echo reason >&2; exit 3')
        self.assertEqual(outcome.FAILED, found)
        self.assertIn('reason', output)

    def test_a_missing_program_is_a_failure(self) -> None:
        found, output = self._run('no-such-program-anywhere')
        self.assertEqual(outcome.FAILED, found)
        self.assertIn('no-such-program-anywhere is not installed', output)

    def test_lint_covers_shell_scripts(self) -> None:
        by_name = {
            check.name: check.command
            for check in checks.lint(environment.Venv())
        }
        self.assertIn('tools/test', by_name['shellcheck'])
        self.assertIn('.ci/run', by_name['bashate'])
        for name in ('settings', 'plugin.sh', 'lib/cinder', 'lib/tempest'):
            for check in ('bashate', 'shellcheck'):
                self.assertIn(f'devstack/{name}', by_name[check])
