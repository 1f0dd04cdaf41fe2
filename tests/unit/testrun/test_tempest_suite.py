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
from unittest import mock

import fixtures

from testrun import distribution
from testrun import environment
from testrun import outcome
from testrun import tempest_suite
from testrun import tree
from tests.unit import base

# Stands in for the program of either venv: keeps what it was asked for.
_PROGRAM = """\
#!/bin/sh
echo "$(basename "$0") $*" >> '{calls}'
case "$*" in
    *subunit_report*) cat > /dev/null
        echo '{{"unmatched": false, "outcome":' > "$3"
        echo '{{"passed": 3, "failed": 0, "skipped": 1}}}}' >> "$3" ;;
    *tempest_conf*) [ ! -e '{calls}.broken' ] || {{ echo why; exit 3; }} ;;
    init*) for folder; do :; done; mkdir -p "$folder/etc" ;;
    run*) pwd >> '{calls}'; echo "VENV=$VIRTUAL_ENV" >> '{calls}' ;;
esac
"""


class _Venv(environment.Venv):
    """A venv of programs that only say what they were asked for."""

    folder: pathlib.Path

    def program(self, name: str) -> str:
        path = self.folder / name
        path.write_text(_PROGRAM.format(calls=self.folder / 'calls'))
        path.chmod(0o755)
        return str(path)

    def prepare(self) -> None:
        """There is nothing to install."""

    def install(self, *what: str) -> None:
        with (self.folder / 'calls').open('a') as calls:
            calls.write(f'install {" ".join(what)}\n')


class TempestSuiteTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', folder))
        self.folder = _Venv.folder = pathlib.Path(folder)
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))
        self.build = self.useFixture(
            fixtures.MockPatchObject(distribution, 'build', autospec=True)
        ).mock
        self.build.return_value.wheel = pathlib.Path('/a.whl')

    def _run(self, *filters: str) -> outcome.Outcome:
        return tempest_suite.run(_Venv(), _Venv(), filters, {})

    def _calls(self) -> str:
        return (self.folder / 'calls').read_text()

    def test_counts(self) -> None:
        self.assertEqual(outcome.Outcome(3, 0, 1), self._run())

    def test_the_wheel_is_installed_first(self) -> None:
        self._run()
        calls = self._calls().splitlines()
        self.assertEqual('install --reinstall --no-deps /a.whl', calls[0])
        self.assertIn('tempest init', calls[1])

    def test_lists_choose_where_nothing_else_does(self) -> None:
        self._run()
        self.assertIn('tests/tempest/include.txt', self._calls())
        self.assertIn('tests/tempest/exclude.txt', self._calls())
        self.assertNotIn('--regex', self._calls())

    def test_another_list(self) -> None:
        tempest_suite.run(_Venv(), _Venv(), (), {}, tempest_suite.WHOLE)
        self.assertIn('tests/tempest/whole.txt', self._calls())
        self.assertNotIn('include.txt', self._calls())

    def test_filters_choose_among_all(self) -> None:
        self._run('one', 'two')
        self.assertIn('--regex one|two', self._calls())
        self.assertNotIn('include.txt', self._calls())

    def test_runs_in_a_workspace_of_its_own(self) -> None:
        self._run()
        where = [
            line for line in self._calls().splitlines() if line.startswith('/')
        ]
        self.assertEqual(1, len(where), self._calls())
        self.assertFalse(pathlib.Path(where[0]).exists())

    def test_workers_are_of_the_same_venv(self) -> None:
        other = _Venv('2025.1')
        other.path = self.folder / 'venv'
        tempest_suite.run(_Venv(), other, (), {})
        self.assertIn(f'VENV={other.path}\n', self._calls())

    def test_no_configuration(self) -> None:
        (self.folder / 'calls.broken').touch()
        self.assertEqual(outcome.FAILED, self._run())
        self.shown.seek(0)
        self.assertIn('why', self.shown.read())
        self.assertNotIn('tempest run', self._calls())

    def test_no_wheel(self) -> None:
        self.build.side_effect = RuntimeError('the build failed')
        self.assertEqual(outcome.FAILED, self._run())

    def test_no_packages(self) -> None:
        with mock.patch.object(
            _Venv,
            'prepare',
            autospec=True,
            side_effect=environment.CannotPrepare('no network'),
        ):
            self.assertEqual(outcome.FAILED, self._run())

    def test_needs_no_service(self) -> None:
        (name,) = tempest_suite.TempestVenv.requirements
        text = (tree.ROOT / name).read_text()
        needed = [
            line.partition('>=')[0]
            for line in text.splitlines()
            if line and not line.startswith('#')
        ]
        self.assertEqual(['tempest', 'cinder-tempest-plugin'], needed)
