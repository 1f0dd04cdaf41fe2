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

import pathlib

import fixtures

from testrun import lanes
from testrun import outcome
from tests.unit import base

# Shows what it was asked for, then goes on when all lanes have come so far.
_RUNNER = """\
import pathlib, sys, time
parts, filters = sys.argv[1:-2], sys.argv[-1]
meet = pathlib.Path('meet')
print('ran', *parts, 'of', filters, flush=True)
(meet / parts[0]).touch()
deadline = time.monotonic() + 20
while len(list(meet.iterdir())) < 2 and time.monotonic() < deadline:
    time.sleep(0.01)
if len(list(meet.iterdir())) < 2:
    raise SystemExit('ran alone')
if 'dies' in parts:
    raise SystemExit('oops')
if 'fails' in parts:
    print('failed: a test: its cause')
    print('1 passed, 1 failed, 0 skipped')
else:
    print('2 passed, 0 failed, 3 skipped')
"""


class LanesTestCase(base.TestCase):
    """Lanes of canned runners; that they meet shows that they run at once."""

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'meet').mkdir()
        runner = folder / 'testrun'
        runner.mkdir()
        (runner / '__main__.py').write_text(_RUNNER)
        self.useFixture(fixtures.MonkeyPatch('testrun.tree.ROOT', folder))
        self.useFixture(
            fixtures.EnvironmentVariable('PYTHONPATH', str(folder))
        )
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _run(self, *second: str) -> outcome.Outcome:
        wanted = {'one': ['first', 'more'], 'second': second}
        return lanes.run(wanted, ['--', 'regex'])

    def _lines(self) -> list[str]:
        self.shown.seek(0)
        lines: list[str] = self.shown.read().splitlines()
        return lines

    def test_side_by_side(self) -> None:
        self.assertEqual(outcome.Outcome(4, 0, 6), self._run('other'))
        shown = self._lines()
        self.assertIn('one    | ran first more of regex', shown)
        self.assertIn('second | ran other of regex', shown)

    def test_failures_keep_their_causes(self) -> None:
        found = self._run('fails')
        self.assertEqual(outcome.Outcome(3, 1, 3), found)
        self.assertEqual(['a test: its cause'], list(found.failures))

    def test_a_lane_that_dies_is_a_failure(self) -> None:
        self.assertEqual(outcome.Outcome(2, 1, 3), self._run('dies'))
        shown = self._lines()
        self.assertIn('second | oops', shown)
        self.assertIn('second | FAILED: ended with status 1', shown)
