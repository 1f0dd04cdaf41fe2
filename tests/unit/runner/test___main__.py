# SPDX-License-Identifier: Apache-2.0

"""The sessions that tools/test runs, and their results."""

import os
import pathlib
import signal
import sys
import time
from typing import Any

import ddt
import fixtures

from runner import __main__ as command_line
from sandbox_cloud import state
from tests.unit import base

# A fake nox: passes, fails or waits, depending on its first session, and shows
# its environment.
_NOX = """\
import json, os, pathlib, sys, time
from runner import results
_, report, how, session, *rest = sys.argv[1:]
folder = pathlib.Path(report).parent / session
folder.mkdir()
print('nox', how, session, *rest, flush=True)
if session in ('waits', 'sandbox-all'):
    pathlib.Path(report).with_name('sandbox').touch()
if session == 'waits':
    time.sleep(60)
if session == 'dies':
    sys.exit(1)
results.check(['true'], folder / 'a.subunit')
if session == 'fails':
    results.check(['false'], folder / 'b.subunit')
good = session not in ('fails', 'breaks')
told = {
    'signatures': [session],
    'result': 'success' if good else 'aborted',
    'duration': 1.5,
}
pathlib.Path(report).write_text(json.dumps({'sessions': [told]}))
"""


@ddt.ddt
class MainTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('RELEASE', 'RESULTS', 'ALL'):
            self.useFixture(
                fixtures.EnvironmentVariable(f'RBD_TEST_{name}', None)
            )
        self.useFixture(fixtures.EnvironmentVariable('KEEP', None))
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PYTHONPATH', str(state.CHECKOUT / 'tools')
            )
        )
        self.sandbox = self.folder / 'sandbox.sh'
        self.sandbox.write_text(f'#!/bin/sh\necho "$@" >{self.folder}/down\n')
        self.sandbox.chmod(0o700)
        here = 'runner.__main__'
        for name, value in (
            ('_NOX', (sys.executable, '-c', _NOX)),
            ('_SANDBOX', str(self.sandbox)),
        ):
            self.useFixture(fixtures.MonkeyPatch(f'{here}.{name}', value))
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _main(self, *words: str) -> tuple[int, list[str]]:
        status = command_line.main(words, self.folder / 'results')
        self.shown.seek(0)
        return status, self.shown.read().splitlines()

    def test_passed_parts_are_counted(self) -> None:
        status, shown = self._main('unit', '--', 'x', '--', '-y')
        self.assertEqual(0, status)
        self.assertEqual('1 passed, 0 failed, 0 skipped', shown[-1])
        self.assertIn('nox --session unit -- x -- -y', shown)

    @ddt.data(
        ('fails', '1 passed, 1 failed, 0 skipped', 'failed: fails: b'),
        ('breaks', '1 passed, 1 failed, 0 skipped', 'failed: breaks: session'),
        ('dies', '0 passed, 1 failed, 0 skipped', 'failed: nox: session: see'),
    )
    @ddt.unpack
    def test_failed_tests_are_listed(
        self, session: str, counts: str, failure: str
    ) -> None:
        status, shown = self._main(session)
        self.assertEqual(1, status)
        self.assertEqual(counts, shown[-1])
        self.assertTrue(any(line.startswith(failure) for line in shown))

    @ddt.data(
        (['all'], False, True, '-all', 4),
        ([], False, True, '', 4),
        # Expressions select tests on the newest release, and the other
        # releases have no lanes of other releases and of Debian.
        ([], True, True, '-regex', 2),
        ([], False, False, '', 2),
    )
    @ddt.unpack
    def test_parts_are_divided_into_lanes(
        self, parts: list[str], some: bool, newest: bool, kind: str, count: int
    ) -> None:
        names = ('sandbox', 'others', 'releases', 'debian')[:count]
        self.assertEqual(
            {name: ['--tags', f'{name}{kind}'] for name in names},
            command_line.lanes(parts, some, newest),
        )

    def test_each_lane_is_counted(self) -> None:
        status, shown = self._main('all')
        self.assertEqual(0, status)
        self.assertEqual('4 passed, 0 failed, 0 skipped', shown[-1])
        self.assertIn('debian    | nox --tags debian-all --', shown)
        self.assertEqual('1', os.environ['RBD_TEST_ALL'])

    @ddt.data((['sandbox', 'others'], [0, 5]), (['parts'], [0]))
    @ddt.unpack
    def test_slowest_lane_has_the_highest_priority(
        self, names: list[str], expected: list[int]
    ) -> None:
        before = os.getpriority(os.PRIO_PROCESS, 0)
        command_line.run(
            {
                name: ['sh', '-c', f'sleep 1; nice > {self.folder / name}']
                for name in names
            }
        )
        niceness = [int((self.folder / name).read_text()) for name in names]
        self.assertEqual([before + each for each in expected], niceness)

    def test_no_such_release(self) -> None:
        self.assertRaises(SystemExit, self._main, '--release', '1999.1')

    def test_a_sandbox_that_was_brought_up_is_taken_down(self) -> None:
        self._main('all')
        told = (self.folder / 'down').read_text()
        self.assertEqual('down --keep-venv\n', told)

    def test_keep_variable_keeps_the_sandbox(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('KEEP', '1'))
        self._main('all')
        self.assertFalse((self.folder / 'down').exists())

    def test_one_of_somebody_else_stays_up(self) -> None:
        self._main('unit')
        self.assertFalse((self.folder / 'down').exists())

    def test_interrupted_run_ends_its_lanes(self) -> None:
        def interrupt(frame: Any, number: Any) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 3)
        began = time.monotonic()
        status, _ = self._main('waits')
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(1, status)
        self.assertTrue((self.folder / 'down').exists())
