# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import shlex
import subprocess

import fixtures

from sandbox_cloud import program
from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.unit import base

# A typical service.
_SERVICE = 'exec </dev/null; echo ready; exec sleep 60'


class ProgramTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.supervisor = supervise.Supervisor(state.State(root), {})

    def _command(self, *words: str) -> list[str]:
        one = program.Program('a', words, inputs=())
        text = self.supervisor._program(one, 'suite')
        (line,) = (
            line for line in text.splitlines() if line.startswith('command')
        )
        # Parse it as supervisord does.
        return shlex.split(line.partition(' = ')[2].replace('%%', '%'))

    def test_what_is_started(self) -> None:
        words = ('printf', '%s.', 'one word', "it's", '$HOME')
        said = subprocess.check_output(self._command(*words), text=True)
        self.assertEqual("one word.it's.$HOME.", said)

    def test_its_standard_input_keeps_a_reader(self) -> None:
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        process = subprocess.Popen(
            self._command('sh', '-c', _SERVICE),
            stdin=read,
            stdout=subprocess.PIPE,
        )
        os.close(read)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        shown = process.stdout.readline() if process.stdout else None
        self.assertEqual(b'ready\n', shown)
        # Raises BrokenPipeError if there is no reader.
        self.assertEqual(1, os.write(write, b'x'))
