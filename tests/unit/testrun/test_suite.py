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
import pathlib
import shutil
import sys

import fixtures

from testrun import environment
from testrun import outcome
from testrun import suite
from tests.unit import base

_TESTS = """\
import testtools

class SampleTestCase(testtools.TestCase):
    def test_good(self):
        pass

    def test_bad(self):
        self.fail('a reason')

    def test_left_out(self):
        self.skipTest('not today')
"""


_ALONE = """\
import os

def load_tests(loader, tests, pattern):
    if os.environ['RBD_TEST_FOLDER'] == 'sample/alone':
        tests.addTests(loader.discover(os.path.dirname(__file__)))
    return tests
"""

_ROOT = pathlib.Path(__file__).resolve().parents[3]


class _ThisVenv(environment.Venv):
    """The venv that the tests themselves run in."""

    def program(self, name: str) -> str:
        folder = pathlib.Path(sys.executable).parent
        return shutil.which(name, path=str(folder)) or name


class SuiteTestCase(base.TestCase):
    """Real stestr on a small tree of its own."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.root / '.stestr.conf').write_text('[DEFAULT]\ntop_dir=.\n')
        (self.root / 'sample').mkdir()
        (self.root / 'sample' / '__init__.py').touch()
        tools = str(pathlib.Path(suite.__file__).parent.parent)
        self.environ = {'PYTHONPATH': tools, 'PATH': os.environ['PATH']}
        self.useFixture(fixtures.MonkeyPatch('testrun.tree.ROOT', self.root))

    def _run(self, text: str, *filters: str) -> outcome.Outcome:
        (self.root / 'sample' / 'test_it.py').write_text(text)
        with (self.root / 'shown').open('w') as show:
            return suite.run(
                _ThisVenv(), 'sample', filters, environ=self.environ, show=show
            )

    def _run_all(self, *leave_out: str) -> outcome.Outcome:
        with (self.root / 'shown').open('w') as show:
            return suite.run_all(
                _ThisVenv(),
                'sample',
                environ=self.environ,
                show=show,
                leave_out=leave_out,
            )

    def test_folders_that_run_alone(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch('testrun.suite.ALONE', ('sample/alone',))
        )
        alone = self.root / 'sample' / 'alone'
        alone.mkdir()
        (alone / '__init__.py').write_text(_ALONE)
        (alone / 'test_it.py').write_text(_TESTS)
        self.assertEqual(outcome.Outcome(0, 0, 0), self._run(''))
        self.assertEqual(outcome.Outcome(1, 1, 1), self._run_all())
        (alone / 'test_it.py').write_text('')
        self.assertEqual(outcome.FAILED, self._run_all())

    def test_each_folder_that_runs_alone_is_known(self) -> None:
        marked = {
            path.parent.relative_to(_ROOT).as_posix()
            for path in (_ROOT / 'tests').rglob('__init__.py')
            if 'alone.loader(' in path.read_text()
        }
        self.assertEqual(set(suite.ALONE), marked)

    def test_leaves_out(self) -> None:
        for name in 'it', 'it_too':
            (self.root / 'sample' / f'test_{name}.py').write_text(_TESTS)
        self.assertEqual(
            outcome.Outcome(1, 1, 1), self._run_all('sample.test_it.')
        )
        self.assertEqual(
            outcome.Outcome(1, 0, 1),
            self._run_all(
                'sample.test_it.', 'sample.test_it_too.SampleTestCase.test_bad'
            ),
        )

    def test_counts(self) -> None:
        self.assertEqual(outcome.Outcome(1, 1, 1), self._run(_TESTS))

    def test_selects(self) -> None:
        self.assertEqual(
            outcome.PASSED, self._run(_TESTS, 'SampleTestCase.test_good')
        )

    def test_a_module_that_cannot_be_imported_is_a_failure(self) -> None:
        found = self._run('import no_such_module_anywhere')
        self.assertEqual(1, found.failed)
        self.assertEqual(0, found.passed)

    def test_no_tests_are_no_passed_tests(self) -> None:
        self.assertEqual(0, self._run('').passed)

    def test_a_filter_for_tests_elsewhere_is_no_failure(self) -> None:
        self.assertEqual(
            outcome.Outcome(), self._run(_TESTS, 'no_such_test_anywhere')
        )
        self.assertEqual('', (self.root / 'shown').read_text())

    def test_a_filter_hides_no_module_that_cannot_be_imported(self) -> None:
        found = self._run('import no_such_module_anywhere', 'no_such_test')
        self.assertEqual(1, found.failed)
        shown = (self.root / 'shown').read_text()
        self.assertIn('no_such_module_anywhere', shown)

    def test_what_is_said_beside_results_is_shown_with_failures(self) -> None:
        said = "import sys\nprint('beside', file=sys.stderr)\n"
        passing = 'SampleTestCase.test_good'
        self._run(said + _TESTS, passing)
        self.assertNotIn('beside', (self.root / 'shown').read_text())
        self._run(said + _TESTS)
        self.assertIn('  | beside', (self.root / 'shown').read_text())
