# SPDX-License-Identifier: Apache-2.0

"""Results of tests as subunit streams: show, store and count them."""

from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import pathlib
import subprocess
import time
from typing import Any

import subunit
import testtools

_PROGRESS_SECONDS = 10
# Only the end of a failed test's logs is shown, and long lines, such as
# answers of a service, are cut. A traceback is shown completely.
_LINES = 30
_WIDTH = 240


class Results(testtools.StreamToDict):
    """Results of tests; with `show`, failures are printed immediately.

    :ivar failures: the error of each failed test
    """

    def __init__(self, show: bool = False) -> None:
        super().__init__(self._add)
        self.passed = self.failed = self.skipped = 0
        self.failures: dict[str, str] = {}
        self._show = show
        self._shown = time.monotonic()

    def __str__(self) -> str:
        counts = f'{self.passed} passed, {self.failed} failed'
        return f'{counts}, {self.skipped} skipped'

    def status(self, *args: Any, **event: Any) -> None:
        """Handle an event; show output that is not subunit."""
        if self._show and not event.get('test_id') and event.get('file_bytes'):
            text = bytes(event['file_bytes']).decode(errors='replace')
            print(text, end='', flush=True)
        super().status(*args, **event)

    def _add(self, test: Mapping[str, Any]) -> None:
        status, name = test['status'], str(test['id'])
        if status == 'success':
            self.passed += 1
        elif status in ('skip', 'xfail'):
            self.skipped += 1
            reason = test['details'].get('reason')
            self._print(f'skipped {name}: {reason and reason.as_text()}')
        elif status != 'exists':
            # 'inprogress' is a test whose worker died.
            self.failed += 1
            said = _said(test['details'])
            self.failures[name] = _error(said) or status
            self._print(f'FAILED ({status}) {name}\n{said}')
        if time.monotonic() - self._shown > _PROGRESS_SECONDS:
            self._print(f'... {self} so far')

    def _print(self, text: str) -> None:
        if self._show:
            self._shown = time.monotonic()
            print(f'  {text}', flush=True)


def _said(details: Mapping[str, Any]) -> str:
    """Return the tracebacks of a test, followed by the end of its logs."""
    tracebacks, logs = [], []
    for name, content in sorted(details.items()):
        if name.startswith('traceback'):
            tracebacks.append(content.as_text())
        elif content.content_type.type == 'text':
            logs.append(f'--- {name}\n{_end_of(content.as_text())}')
    return '\n'.join(tracebacks + logs)


def _error(said: str) -> str:
    """Return the line with which a test's first traceback ends.

    Of the output of a long run often only the end is kept.
    """
    lines = said.splitlines()
    below = itertools.dropwhile(lambda x: not x.startswith('Traceback'), lines)
    ends = (x for x in itertools.islice(below, 1, None) if x[:1].strip())
    return next(ends, '')[:_WIDTH]


def _end_of(text: str) -> str:
    return '\n'.join(line[:_WIDTH] for line in text.splitlines()[-_LINES:])


def _read(stream: Any, *readers: Any) -> None:
    reader = testtools.CopyStreamResult(list(readers))
    reader.startTestRun()
    subunit.ByteStreamToStreamResult(stream, 'stdout').run(reader)
    reader.stopTestRun()


def total(folder: pathlib.Path) -> Results:
    """Count the results in the streams of a folder."""
    sums = Results()
    for path in sorted(folder.glob('*.subunit')):
        with path.open('rb') as stream:
            _read(stream, sums)
    return sums


def follow(command: Sequence[str], saved: pathlib.Path, **how: Any) -> None:
    """Run a command that writes a subunit stream; show and store it.

    :raises RuntimeError: the command failed, but no test failed
    """
    shown = Results(show=True)
    errors = saved.with_suffix('.stderr')
    with saved.open('wb') as out, errors.open('w') as stderr:
        how.update(stdout=subprocess.PIPE, stderr=stderr)
        with subprocess.Popen(command, **how) as tests:
            _read(tests.stdout, shown, subunit.StreamResultToBytes(out))
    status = tests.returncode
    if status or shown.failed:
        # Shown only on failure: Cinder's own tests write thousands of
        # warnings.
        print(_end_of(errors.read_text(errors='replace')), flush=True)
    # stestr exits with 1 if no test matches, and with another status if a
    # module cannot be imported; no test ran in either case.
    if status and not shown.failed and (shown.passed or status != 1):
        raise RuntimeError(f'{command[0]} ended with status {status}')


def check(command: Sequence[str], saved: pathlib.Path, **how: Any) -> None:
    """Run a command as one test, which passes if it exits with 0."""
    status = 'fail' if subprocess.run(command, **how).returncode else 'success'
    with saved.open('wb') as out:
        subunit.StreamResultToBytes(out).status(saved.stem, status)
