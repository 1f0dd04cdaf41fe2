# SPDX-License-Identifier: Apache-2.0

import argparse
import io
from typing import Any
from unittest import mock

from rbd_volume_tools.command_line import exit_status
from tests.unit import base


class _Check(exit_status.StatusLister):
    """A check that fails, or has a status."""

    failure: BaseException | None = None
    rows: list[tuple[Any, ...]] = []

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Subject',)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        if self.failure:
            raise self.failure
        self.status = 2
        return ('Subject',), self.rows


class StatusListerTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.shown = io.StringIO()
        app: Any = mock.Mock(stdout=io.StringIO(), stderr=self.shown)
        app.options.debug = False
        self.app = app
        self.check = _Check(app, None)

    def run_check(self, *words: str) -> int:
        arguments = self.check.get_parser('check').parse_args(words)
        return self.check.run(arguments)

    def test_status_of_lister_is_returned(self) -> None:
        self.assertEqual(2, self.run_check())
        self.assertEqual('', self.shown.getvalue())

    def test_csv_has_no_formulas(self) -> None:
        self.check.rows = [('=1+1',), ('-x',), ('\uff1d1',), ('a=b',), (-1,)]
        self.run_check('-f', 'csv', '--quote', 'none')
        self.assertEqual(
            ['Subject', "'=1+1", "'-x", "'\uff1d1", 'a=b', '-1'],
            self.app.stdout.getvalue().split(),
        )
        self.run_check('-f', 'json')
        self.assertIn('"=1+1"', self.app.stdout.getvalue())

    def test_cells_do_not_control_the_terminal(self) -> None:
        self.check.rows = [('\x1b[1m',), (['\x9b'],), (None,)]
        for form in ('table', 'csv', 'value'):
            self.run_check('-f', form)
        shown = self.app.stdout.getvalue()
        self.assertNotIn('\x1b', shown)
        self.assertNotIn('\x9b', shown)
        self.assertIn('\\x1b[1m', shown)

    def test_failure_is_shown_and_unknown(self) -> None:
        self.check.failure = OSError('no \x1b[1mcluster')
        self.assertEqual(exit_status.COMMAND, self.run_check())
        self.assertEqual('no \\x1b[1mcluster\n', self.shown.getvalue())

    def test_failure_with_debug_is_unknown_with_a_traceback(self) -> None:
        self.app.options.debug = True
        self.check.failure = OSError('no cluster')
        self.assertEqual(exit_status.COMMAND, self.run_check())
        self.assertIn('raise self.failure', self.shown.getvalue())

    def test_reader_that_has_ended_is_no_failure(self) -> None:
        self.check.failure = BrokenPipeError()
        self.assertRaises(BrokenPipeError, self.run_check)
        self.assertEqual('', self.shown.getvalue())

    def test_cancelled_run_is_unknown(self) -> None:
        self.check.failure = KeyboardInterrupt()
        self.assertEqual(exit_status.COMMAND, self.run_check())
        self.assertEqual('Cancelled.\n', self.shown.getvalue())
