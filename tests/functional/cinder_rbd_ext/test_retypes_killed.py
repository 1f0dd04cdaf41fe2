# SPDX-License-Identifier: Apache-2.0

"""Retypes whose services are killed or paused, at lines or random moments.

The environment variable ``RBD_TEST_KILLS`` sets the number of random moments,
of lines, and of pauses; ``RBD_TEST_KILLS_OF``, which of the two kinds is
killed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any
import unittest

from tests.functional import ceph
from tests.functional import interruptions

#: The number of kills at random moments, and at lines of code.
KILLS_VARIABLE = 'RBD_TEST_KILLS'
#: ``retype`` or ``migration``; both by default.
KIND_VARIABLE = 'RBD_TEST_KILLS_OF'
#: The seed of the random numbers.
SEED_VARIABLE = 'RBD_TEST_SEED'
_MOMENTS, _LINES, _PAUSES = 1, 1, 1

_PROGRAM = pathlib.Path(__file__).with_name('retyping.py')
_ROOT = pathlib.Path(__file__).resolve().parents[3]


class KilledTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = ceph.shared_cluster()
        # On a busy machine, a copy takes longer than a few seconds.
        watch = interruptions.ShortWatch(self.cluster, 7)
        watch.setUp()
        self.addCleanup(watch.cleanUp)
        self.addCleanup(self.cluster.empty)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def test_volume_is_old_or_new_after_each_kill(self) -> None:
        """Another service recovers; the content is always the same."""
        kills = os.environ.get(KILLS_VARIABLE)
        moments, lines, pauses = (_MOMENTS, _LINES, _PAUSES)
        if kills:
            moments = lines = pauses = int(kills)
        kinds = os.environ.get(KIND_VARIABLE, 'retype migration').split()
        errors = tempfile.TemporaryFile('w+')  # noqa: SIM115
        self.addCleanup(errors.close)
        process = subprocess.Popen(
            [
                *(sys.executable, '-W', 'ignore', _PROGRAM),
                *(self.cluster.conf, self.directory),
                *('--moments', str(moments), '--lines', str(lines)),
                *('--pauses', str(pauses)),
                *('--kinds', *kinds),
                *('--seed', os.environ.get(SEED_VARIABLE, '0')),
            ],
            # Without eventlet, the code runs in the thread that is traced.
            env={
                **os.environ,
                'OS_CINDER_DISABLE_EVENTLET_PATCHING': 'true',
                'PYTHONPATH': str(_ROOT),
            },
            stdout=subprocess.PIPE,
            stderr=None if kills else errors,
            text=True,
        )
        trials = []
        with process:
            for line in process.stdout or ():
                trials.append(json.loads(line))
                if kills:
                    # A long run may be ended early.
                    sys.stderr.write(line)
        errors.seek(0)
        self.assertEqual(0, process.returncode, errors.read()[-4000:])
        wrong = [trial for trial in trials if trial['wrong']]
        self.assertEqual([], wrong)
        for kind in kinds:
            results: list[Any] = [
                trial['new'] for trial in trials if trial['kind'] == kind
            ]
            self.assertEqual({True, False}, set(results))
            self.assertEqual(2 + moments + lines + pauses, len(results))
