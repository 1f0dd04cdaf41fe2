# SPDX-License-Identifier: Apache-2.0

"""Test the totals and the output of a stream of results."""

import io
import pathlib
import sys

import fixtures
import subunit

from runner import results
from tests.unit import base

# Replaces stestr: writes the result of a test for each word.
_RUNNER = """\
import sys
import subunit
stream = subunit.StreamResultToBytes(sys.stdout.buffer)
status, *words = sys.argv[1:]
print('a complaint', flush=True)
for number, word in enumerate(words):
    stream.status(test_id=f't{number}', test_status=word)
sys.stderr.write('a warning\\n')
sys.exit(int(status))
"""


class ResultsTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _shown(self) -> str:
        self.shown.seek(0)
        return str(self.shown.read())

    def _follow(self, status: int, *words: str) -> results.Results:
        command = [sys.executable, '-c', _RUNNER, str(status), *words]
        results.follow(command, self.folder / 'a.subunit')
        return results.total(self.folder)

    def test_results_are_counted_by_outcome(self) -> None:
        counts = self._follow(1, 'success', 'success', 'fail', 'skip', 'xfail')
        self.assertEqual('2 passed, 1 failed, 2 skipped', str(counts))
        self.assertEqual({'t2': 'fail'}, counts.failures)

    def test_an_unexpected_success_has_failed(self) -> None:
        self.assertEqual(1, self._follow(1, 'uxsuccess').failed)

    def test_a_test_that_never_ended_has_failed(self) -> None:
        counts = self._follow(1, 'inprogress')
        self.assertEqual({'t0': 'inprogress'}, counts.failures)

    def test_tests_that_are_only_listed_are_none(self) -> None:
        counts = self._follow(0, 'exists')
        self.assertEqual('0 passed, 0 failed, 0 skipped', str(counts))

    def test_complaints_are_shown_and_warnings_after_a_failure(self) -> None:
        self._follow(0, 'success')
        self.assertIn('a complaint', self._shown())
        self.assertNotIn('a warning', self._shown())
        self._follow(1, 'fail')
        self.assertIn('a warning', self._shown())

    def test_no_such_test(self) -> None:
        self.assertEqual(0, self._follow(1).failed)

    def test_a_runner_that_fails_with_all_tests_passed(self) -> None:
        self.assertRaises(RuntimeError, self._follow, 1, 'success')

    def test_a_runner_that_fails_before_any_test(self) -> None:
        self.assertRaises(RuntimeError, self._follow, 100)

    def _told(self, name: str, text: str) -> str:
        """Return the output for a failed test with a text."""
        stream = io.BytesIO()
        subunit.StreamResultToBytes(stream).status(
            test_id='t',
            test_status='fail',
            file_name=name,
            file_bytes=text.encode(),
            mime_type='text/plain; charset=utf8',
            eof=True,
        )
        stream.seek(0)
        self.read = results.Results(show=True)
        results._read(stream, self.read)
        return self._shown()

    def test_list_of_failures_names_the_error(self) -> None:
        text = 'Traceback (most recent call last):\n  File "a"\n    x\n'
        self._told('traceback', f'{text}KeyError: 1\n\nDuring\n{text}E: 2')
        self.assertEqual({'t': 'KeyError: 1'}, self.read.failures)

    def test_tracebacks_are_shown_whole(self) -> None:
        lines = '\n'.join(f'line {number} ' * 50 for number in range(99))
        self.assertIn(lines, self._told('traceback', lines))

    def test_of_logs_the_end_is_shown(self) -> None:
        lines = '\n'.join(f'line {number} ' * 50 for number in range(99))
        shown = self._told('pythonlogging', lines)
        self.assertNotIn('line 68', shown)
        self.assertIn('line 69', shown)
        self.assertLess(len(shown), 9000)
