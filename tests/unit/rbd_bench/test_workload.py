# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_bench import workload
from rbd_volume_options import errors
from tests.unit import base

_GIVEN = {'name': 'w', 'pattern': 'randrw', 'block_size': '16K'}


@ddt.ddt
class WorkloadTest(base.TestCase):
    def test_workload_is_read_with_its_defaults(self) -> None:
        work = workload.read('w', {**_GIVEN, 'read_percent': 80})
        self.assertEqual(16384, work.block_size)
        self.assertEqual(
            (1, 80, 0),
            (work.queue_depth, work.read_percent, work.flush_every),
        )
        self.assertFalse(work.is_sequential)
        self.assertTrue(work.writes)

    def test_jobs_multiply_requests_in_flight(self) -> None:
        work = workload.read(
            'w',
            {**_GIVEN, 'pattern': 'randread', 'queue_depth': 4, 'jobs': 8},
        )
        self.assertEqual((8, 32), (work.jobs, work.in_flight))

    @ddt.data(
        ({'pattern': 'trim'}, 'pattern.*randwrite'),
        ({'pattern': 'read', 'read_percent': 80}, 'set with the pattern'),
        ({'block_size': '100'}, 'multiple of 512'),
        ({'block_size': '128M'}, 'up to 64M'),
        ({'queue_depth': 0}, 'queue_depth.*1 to 1024'),
        ({'jobs': 2}, r"jobs = '2'.*randrw.*1, or more with read or randread"),
        ({'numjobs': 2}, 'unknown key'),
    )
    @ddt.unpack
    def test_invalid_workloads_are_refused(
        self, changed: Any, text: str
    ) -> None:
        error = self.assertRaises(
            errors.OptionError, workload.read, 'w', {**_GIVEN, **changed}
        )
        self.assertRegex(str(error), text)
