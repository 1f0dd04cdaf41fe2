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

"""Reads a subunit stream, shows failures as they come, writes the counts.

Run with the venv's Python, which has subunit:
``stestr run --subunit | python -m testrun.subunit_report COUNTS.json``
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import pathlib
import re
import sys
import time
from typing import Any

import subunit
import testtools

_FAILURES = ('fail', 'uxsuccess')
_SKIPS = ('skip', 'xfail')
_SLOWEST = 5
#: What is shown of a failed test's logs: their end, without what a service
#: answered at length. The traceback, which comes first, is shown whole.
_LOG_LINES = 30
_LOG_WIDTH = 240
#: What stestr says, and no more, where filters leave no test.
_UNMATCHED = "The specified regex doesn't match with anything"
#: A line of a traceback that names the exception.
_RAISED = re.compile(r'[A-Za-z_][\w.]*: ')


class Report:
    """Counts the tests of a stream, by how each ended."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures: list[str] = []
        #: No test has a name that was asked for.
        self.unmatched = False
        self.durations: list[tuple[float, str]] = []
        self._shown = time.monotonic()

    def test(self, test: Mapping[str, Any]) -> None:
        """One finished test, as testtools' StreamToDict gives it."""
        status = test['status']
        if status == 'exists':
            return
        name = str(test['id'])
        if status == 'success':
            self.passed += 1
        elif status in _SKIPS:
            self.skipped += 1
            print(f'  skipped {name}: {_reason(test)}', flush=True)
        else:
            # 'inprogress' is a test whose worker died under it, 'unknown'
            # one that never said how it ended: neither has passed.
            self.failed += 1
            word = 'FAILED' if status in _FAILURES else f'FAILED ({status})'
            print(f'  {word} {name}\n{_details(test)}', flush=True)
            self.failures.append(f'{name}: {_cause(test) or status}')
        began, ended = test['timestamps']
        if began is not None and ended is not None:
            self.durations.append(((ended - began).total_seconds(), name))
        self._progress()

    def _progress(self) -> None:
        if time.monotonic() - self._shown < 10:
            return
        self._shown = time.monotonic()
        print(
            f'  ... {self.passed} passed, {self.failed} failed, '
            f'{self.skipped} skipped so far',
            flush=True,
        )

    def found(self) -> dict[str, Any]:
        """What makes an :class:`testrun.outcome.Outcome`, by name."""
        return {
            'passed': self.passed,
            'failed': self.failed,
            'skipped': self.skipped,
            'failures': self.failures,
        }

    def slowest(self) -> list[tuple[float, str]]:
        """The tests that took longest, longest first."""
        return sorted(self.durations, reverse=True)[:_SLOWEST]


def _reason(test: Mapping[str, Any]) -> str:
    detail = test['details'].get('reason')
    return detail.as_text().strip() if detail else 'no reason given'


def _texts(test: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The tracebacks of a test, and its logs."""
    tracebacks, logs = [], []
    for name, content in sorted(test['details'].items()):
        if content.content_type.type != 'text':
            continue
        text = content.as_text().strip()
        if not text:
            continue
        if name.startswith('traceback'):
            tracebacks.append(text)
        else:
            logs.append(f'--- {name}\n{_end_of(text)}')
    return tracebacks, logs


def _cut(line: str) -> str:
    return line if len(line) <= _LOG_WIDTH else f'{line[:_LOG_WIDTH]} ...'


def _end_of(text: str) -> str:
    lines = text.splitlines()
    shown = [_cut(line) for line in lines]
    if len(lines) > _LOG_LINES:
        left_out = len(lines) - _LOG_LINES
        shown = [f'({left_out} lines left out)', *shown[-_LOG_LINES:]]
    return '\n'.join(shown)


def _details(test: Mapping[str, Any]) -> str:
    tracebacks, logs = _texts(test)
    return '\n'.join(tracebacks + logs)


def _cause(test: Mapping[str, Any]) -> str:
    """The line of a traceback that says what was raised."""
    tracebacks, _ = _texts(test)
    # A message may have lines of its own below the one that names the
    # exception.
    for line in reversed('\n'.join(tracebacks).splitlines()):
        if _RAISED.match(line):
            return _cut(line)
    return ''


class _Text(testtools.StreamResult):
    """Passes on what isn't subunit: stestr's own complaints."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._line = ''

    def status(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get('file_name') == 'stdout' and not kwargs.get('test_id'):
            text = bytes(kwargs['file_bytes']).decode('utf-8', 'replace')
            *lines, self._line = f'{self._line}{text}'.split('\n')
            for line in lines:
                print(line, flush=True)

    def stopTestRun(self) -> None:
        """See to the last line, which may have no end."""
        if self._line == _UNMATCHED:
            self._report.unmatched = True
        elif self._line:
            print(self._line, flush=True)
        super().stopTestRun()


def read(stream: Any) -> Report:
    """Report on the subunit v2 bytes of an open binary file."""
    report = Report()
    result = testtools.CopyStreamResult(
        [testtools.StreamToDict(report.test), _Text(report)]
    )
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name='stdout').run(
        result
    )
    result.stopTestRun()
    return report


def main() -> int:
    """Read standard input; the file named first gets the counts."""
    report = read(sys.stdin.buffer)
    for seconds, name in report.slowest():
        if seconds >= 1:
            print(f'  {seconds:6.1f} s  {name}')
    told = {'outcome': report.found(), 'unmatched': report.unmatched}
    pathlib.Path(sys.argv[1]).write_text(json.dumps(told))
    return 0


if __name__ == '__main__':
    sys.exit(main())
