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

import io
from typing import Any
from typing import cast
from unittest import mock

import fixtures
import subunit
import testtools
from testtools import content
from testtools import matchers

from testrun import subunit_report
from tests.unit import base


def _sample(name: str) -> testtools.TestCase:
    """A test to report on; in a function, so that no runner finds it."""

    class Sample(testtools.TestCase):
        def test_good(self) -> None:
            pass

        def test_bad(self) -> None:
            self.fail('a reason to read')

        def test_logs_much(self) -> None:
            lines = [f'line {n} ' + 'x ' * 999 for n in range(100)]
            self.addDetail(
                'pythonlogging', content.text_content('\n'.join(lines))
            )
            self.fail('a cause')

        def test_left_out(self) -> None:
            self.skipTest('not today')

    return Sample(name)


class ReportTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _output(self) -> str:
        self.shown.seek(0)
        return str(self.shown.read())

    def _stream(self, *names: str) -> io.BytesIO:
        stream = io.BytesIO()
        result = testtools.ExtendedToStreamDecorator(
            subunit.StreamResultToBytes(stream)
        )
        result.startTestRun()
        for name in names:
            _sample(name).run(cast(Any, result))
        result.stopTestRun()
        stream.seek(0)
        return stream

    def test_counts_how_tests_ended(self) -> None:
        report = subunit_report.read(
            self._stream('test_good', 'test_bad', 'test_left_out')
        )
        self.assertEqual(
            {
                'passed': 1,
                'failed': 1,
                'skipped': 1,
                'failures': [mock.ANY],
            },
            report.found(),
        )
        (failure,) = report.failures
        self.assertThat(failure, matchers.EndsWith('a reason to read'))
        self.assertIn('test_bad: ', failure)

    def test_what_is_no_result_is_passed_on(self) -> None:
        stream = io.BytesIO(b'a complaint\nand another')
        report = subunit_report.read(stream)
        self.assertEqual('a complaint\nand another\n', self._output())
        self.assertFalse(report.unmatched)

    def test_no_test_of_a_name(self) -> None:
        stream = io.BytesIO(b"The specified regex doesn't match with anything")
        self.assertTrue(subunit_report.read(stream).unmatched)
        self.assertEqual('', self._output())

    def test_traceback_comes_before_logs_and_whole(self) -> None:
        subunit_report.read(self._stream('test_logs_much'))
        shown = self._output().splitlines()
        (log,) = (n for n, line in enumerate(shown) if 'pythonlog' in line)
        (cause,) = (
            n for n, line in enumerate(shown) if 'Error: a cause' in line
        )
        self.assertLess(cause, log)
        self.assertIn('(70 lines left out)', shown[log + 1])
        self.assertLess(max(map(len, shown[log:])), 300)
        self.assertIn('line 99', shown[-1])

    def test_shows_a_failure_and_why(self) -> None:
        subunit_report.read(self._stream('test_bad', 'test_left_out'))
        output = self._output()
        self.assertIn('FAILED', output)
        self.assertIn('a reason to read', output)
        self.assertIn('not today', output)

    def test_a_test_whose_worker_died_has_failed(self) -> None:
        stream = io.BytesIO()
        subunit.StreamResultToBytes(stream).status('a.test', 'inprogress')
        stream.seek(0)
        report = subunit_report.read(stream)
        self.assertEqual(1, report.failed)

    def test_a_test_that_is_only_listed_has_not_run(self) -> None:
        stream = io.BytesIO()
        subunit.StreamResultToBytes(stream).status('a.test', 'exists')
        stream.seek(0)
        report = subunit_report.read(stream)
        self.assertEqual(
            {'passed': 0, 'failed': 0, 'skipped': 0, 'failures': []},
            report.found(),
        )

    def test_passes_on_what_is_no_subunit(self) -> None:
        subunit_report.read(io.BytesIO(b'No module named nothing\n'))
        self.assertIn('No module named nothing', self._output())
