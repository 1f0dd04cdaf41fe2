# SPDX-License-Identifier: Apache-2.0

import os
import signal
from unittest import mock

from rbd_volume_tools.audit import reading
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

# Answers for each image, or ends as librbd may.
_PROGRAM = """
import json, os, pickle, signal, sys
from rbd_volume_tools.audit import reading
from tests.unit.rbd_volume_tools.audit import facts
for line in sys.stdin:
    pool, name, how = json.loads(line)
    if name.startswith('SIG'):
        os.kill(os.getpid(), signal.Signals[name])
    answer = facts.image(name)
    if name == 'refused':
        answer = reading.NotRead('no such image', 2)
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.flush()
"""


class ReaderTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(reading, '_PROGRAM', _PROGRAM)
        patch.start()
        self.addCleanup(patch.stop)
        self.reader = reading.Reader({'conf': 'ceph.conf'})
        self.addCleanup(self.reader.close)

    def test_image_that_ends_the_process_is_named_and_the_next_is_read(
        self,
    ) -> None:
        for fault in ('SIGFPE', 'SIGSEGV', 'SIGABRT'):
            error = self.assertRaises(
                reading.NotRead, self.reader.read, 'volumes', fault
            )
            self.assertIsNone(error.errno)
            self.assertIn(fault, str(error))
            image = self.reader.read('volumes', 'volume-1')
            self.assertEqual(facts.image('volume-1'), image)

    def test_process_that_somebody_ended_damages_no_image(self) -> None:
        error = self.assertRaises(
            reading.Stopped, self.reader.read, 'volumes', 'SIGKILL'
        )
        self.assertIn(f'status -{signal.SIGKILL.value}', str(error))

    def test_refusal_of_librbd_keeps_its_number(self) -> None:
        error = self.assertRaises(
            reading.NotRead, self.reader.read, 'volumes', 'refused'
        )
        self.assertEqual((2, 'no such image'), (error.errno, str(error)))

    def test_process_has_a_session_of_its_own(self) -> None:
        """Ctrl-C ends a run after the current image."""
        self.reader.read('volumes', 'volume-1')
        process = self.reader._process
        self.assertIsNotNone(process)
        if process:
            self.assertEqual(process.pid, os.getsid(process.pid))
