# SPDX-License-Identifier: Apache-2.0

"""Operations while the daemons of the cluster drop connections."""

import concurrent.futures
import json
import os
from typing import Any

import fixtures

from tests import runs
from tests.functional.cinder_rbd_ext import base

#: The number of operations; 1,000 for a long run.
_OPERATIONS = int(os.environ.get('RBD_TEST_FAULTS', '12'))
_AT_ONCE = 8
# One in this number of messages breaks the connection.
_ONE_IN = 100
# What takes its place afterwards: about one in 2**31. Ceph divides by the
# option after it has looked whether it is 0, so that a client or daemon with a
# message under way ends with SIGFPE if the option is removed meanwhile.
_ALMOST_NONE = 2**40
#: Seconds after which the operations on a volume count as hung. They are slow
#: because of repeated connections.
_LONGEST = 300.0


# The part trust breaks connections, too.
@runs.tags(runs.NIGHTLY)
class SocketFailuresTest(base.DriverTestCase):
    """No operation hangs or fails, and nothing is left behind."""

    def _monitor(self, **command: str) -> None:
        status, _, text = self.cluster.rados.mon_command(
            json.dumps(command), b''
        )
        self.assertEqual(0, status, text)

    def _inject(self) -> None:
        option = {'who': 'global', 'name': 'ms_inject_socket_failures'}
        self.addCleanup(
            self._monitor,
            prefix='config set',
            value=str(_ALMOST_NONE),
            **option,
        )
        self._monitor(prefix='config set', value=str(_ONE_IN), **option)

    def _live(self, volume: Any) -> None:
        """Create, extend and delete a volume."""
        self.driver.create_volume(volume)
        self.driver.extend_volume(volume, 2)
        self.driver.delete_volume(volume)

    def test_operations_survive_broken_connections(self) -> None:
        # The timeout is not gentle: Python's signal handlers cannot interrupt
        # librbd.
        self.useFixture(fixtures.Timeout(600 + 2 * _OPERATIONS, gentle=False))
        volumes = [self.new_volume() for _ in range(_OPERATIONS // 3)]
        self._inject()
        with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            calls = [pool.submit(self._live, each) for each in volumes]
            hung = 0
            for call in calls:
                done, _ = concurrent.futures.wait([call], _LONGEST)
                hung += not done
            self.assertEqual(0, hung)
        self.assertEqual([None] * len(calls), [c.result() for c in calls])
        self.assertEqual([], self.cluster.names())
