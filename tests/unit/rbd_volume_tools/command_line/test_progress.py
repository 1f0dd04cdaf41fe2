# SPDX-License-Identifier: Apache-2.0

import io
import sys
from unittest import mock

import fixtures

from rbd_volume_tools.command_line import progress
from tests.unit import base


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ProgressTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '80'))

    def shown(self, stream: io.StringIO) -> str:
        with progress.shown(stream) as show:
            show('volumes', 1, 2)
            show('volumes', 2, 2)
        return stream.getvalue()

    def with_running(self, stream: io.StringIO) -> str:
        with progress.with_running(stream) as show:
            show(1, 3, {'0d6a5f0b-5e0c': 40, 'b': None})
        return stream.getvalue()

    def test_not_a_terminal(self) -> None:
        self.assertEqual('', self.shown(io.StringIO()))
        self.assertEqual('', self.with_running(io.StringIO()))

    def test_bar_for_each_pool(self) -> None:
        text = self.shown(_Terminal())
        for part in ('volumes', '2/2'):
            self.assertIn(part, text)

    def test_name_with_brackets_is_shown_as_it_is(self) -> None:
        """The command would end after a part of the volumes of a type."""
        terminal = _Terminal()
        with progress.shown(terminal) as show:
            show('[b]gold[/ssd]', 1, 2)
        self.assertIn('[b]gold[/ssd]', terminal.getvalue())

    def test_name_does_not_control_the_terminal(self) -> None:
        for module in ('rich', 'none'):
            terminal = _Terminal()
            with (
                mock.patch.dict(sys.modules, {module: None}),
                progress.shown(terminal) as show,
            ):
                show('\x1b]0;x\x07\x9b2J', 1, 2)
            self.assertIn(r'\x1b]0;x\x07\x9b2J', terminal.getvalue())

    def test_bar_with_what_is_running(self) -> None:
        text = self.with_running(_Terminal())
        for part in ('1/3', '0d6a5f0b 40 %, b'):
            self.assertIn(part, text)

    def test_without_rich(self) -> None:
        with mock.patch.dict(sys.modules, {'rich': None}):
            self.assertEqual(
                '\rvolumes: 1 of 2 \rvolumes: 2 of 2 \n',
                self.shown(_Terminal()),
            )
