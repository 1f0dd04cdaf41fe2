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
import sys
import time
from typing import Any

import subunit
import testtools

_FAILURES = ('fail', 'uxsuccess')
_SKIPS = ('skip', 'xfail')
_SLOWEST = 5


class Report:
    """Counts the tests of a stream, by how each ended."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.skipped = 0
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

    def counts(self) -> dict[str, int]:
        """The three numbers, by name."""
        return {
            'passed': self.passed,
            'failed': self.failed,
            'skipped': self.skipped,
        }

    def slowest(self) -> list[tuple[float, str]]:
        """The tests that took longest, longest first."""
        return sorted(self.durations, reverse=True)[:_SLOWEST]


def _reason(test: Mapping[str, Any]) -> str:
    detail = test['details'].get('reason')
    return detail.as_text().strip() if detail else 'no reason given'


def _details(test: Mapping[str, Any]) -> str:
    shown = []
    for name, content in sorted(test['details'].items()):
        if content.content_type.type != 'text':
            continue
        text = content.as_text().strip()
        if text:
            shown.append(f'--- {name}\n{text}')
    return '\n'.join(shown)


class _Text(testtools.StreamResult):
    """Passes on what isn't subunit: stestr's own complaints."""

    def status(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get('file_name') == 'stdout' and not kwargs.get('test_id'):
            sys.stdout.write(
                bytes(kwargs['file_bytes']).decode('utf-8', 'replace')
            )


def read(stream: Any) -> Report:
    """Report on the subunit v2 bytes of an open binary file."""
    report = Report()
    result = testtools.CopyStreamResult(
        [testtools.StreamToDict(report.test), _Text()]
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
    pathlib.Path(sys.argv[1]).write_text(json.dumps(report.counts()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
