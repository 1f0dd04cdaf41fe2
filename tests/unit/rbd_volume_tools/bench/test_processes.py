# SPDX-License-Identifier: Apache-2.0

import ctypes.util
import os
import pathlib
from unittest import mock

import fixtures

from rbd_volume_tools.bench import processes
from tests.unit import base


class ProcessesTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.messages = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'l'
        )

    def test_child_ends_with_the_context(self) -> None:
        with processes.running(
            ['sleep', '100'], os.environ, self.messages
        ) as child:
            self.assertIsNone(child.poll())
        self.assertEqual(-15, child.returncode)

    def test_program_that_is_missing(self) -> None:
        running = processes.running(['none-such'], os.environ, self.messages)
        error = self.assertRaises(processes.EngineError, running.__enter__)
        self.assertIn('none-such is not installed', str(error))

    def test_allocator_is_preloaded(self) -> None:
        with mock.patch.object(
            ctypes.util, 'find_library', autospec=True
        ) as find:
            find.side_effect = {'tcmalloc_minimal': 'libt.so'}.get
            env = processes.environ('tcmalloc', CEPH_CONF='x')
            self.assertEqual('libt.so', env['LD_PRELOAD'])
            self.assertEqual('x', env['CEPH_CONF'])
            error = self.assertRaises(
                processes.EngineError, processes.environ, 'jemalloc'
            )
        self.assertIn('install libjemalloc', str(error))
        self.assertNotIn('LD_PRELOAD', processes.environ())

    def test_failure_shows_end_of_messages(self) -> None:
        program = self.messages.parent / 'fio-fails'
        program.write_text('#!/bin/sh\necho sorry; exit 3\n')
        program.chmod(0o700)
        with processes.running(
            [str(program)], os.environ, self.messages
        ) as child:
            child.wait(10)
        error = processes.failure(child, self.messages)
        self.assertEqual('fio-fails ended with 3: sorry', str(error))
