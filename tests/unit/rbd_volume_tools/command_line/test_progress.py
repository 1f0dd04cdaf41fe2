# SPDX-License-Identifier: Apache-2.0

import io

from rbd_volume_tools.command_line import progress
from tests.unit import base


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ProgressTest(base.TestCase):
    def shown(self, stream: io.StringIO, text: str = 'volumes') -> str:
        with progress.shown(stream) as show:
            show(text, 1, 2)
        progress.say(stream, 'Paused.')
        return stream.getvalue()

    def test_only_a_terminal_shows_progress(self) -> None:
        self.assertEqual('Paused.\n', self.shown(io.StringIO()))
        self.assertEqual(
            '\r\x1b[Kvolumes: 1 of 2\n\r\x1b[KPaused.\n',
            self.shown(_Terminal()),
        )

    def test_name_does_not_control_the_terminal(self) -> None:
        text = self.shown(_Terminal(), '\x1b]0;x\x07\x9b2J')
        self.assertIn(r'\x1b]0;x\x07\x9b2J', text)

    def test_operations_that_run_have_short_names(self) -> None:
        self.assertEqual(
            '0d6a5f0b 40 %, b',
            progress.running({'0d6a5f0b-5e0c': 40, 'b': None}),
        )
