# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import subprocess
import sys
import time

import fixtures

from tests import tree
from tests.life import ceph_process
from tests.unit import base

# Other tests of this process use eventlet, which multiprocessing does not
# support.
_PROGRAM = """
import sys
from tests.unit.life import test_ceph_process
test_ceph_process.run(sys.argv[1])
"""


class _Connection:
    """Ends or hangs once, and then answers."""

    def __init__(self, how: str) -> None:
        self._how = pathlib.Path(how)

    def state(self, pool: str, name: str) -> str:
        """Return a state, except the first time."""
        if self._how.exists():
            how = self._how.read_text()
            self._how.unlink()
            if how == 'ended':
                os._exit(1)
            time.sleep(60)
        return f'{pool}/{name}'


def _connect(conf: str) -> None:
    ceph_process._connection = _Connection(conf)  # type: ignore[assignment]


def run(path: str) -> None:
    """Make a request and show the answer and the messages."""
    ceph_process._connect = _connect
    # The first process may take long to start on a busy machine.
    ceph_process._LONGEST = 15.0
    cluster = ceph_process.Cluster(path, print)
    print(cluster.state('volumes', 'v'), flush=True)
    cluster._process.shutdown()


class ClusterTest(base.TestCase):
    def check(self, how: str) -> None:
        """Check that a request is repeated in another process."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'how')
        path.write_text(how)
        shown = subprocess.check_output(
            [sys.executable, '-c', _PROGRAM, str(path)],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': f'{tree.ROOT / "tools"}'},
            text=True,
            timeout=100,
        )
        self.assertIn(f'  the process that uses Ceph {how} in state', shown)
        self.assertIn('volumes/v', shown)

    def test_process_that_ended(self) -> None:
        self.check('ended')

    def test_process_that_hangs(self) -> None:
        self.check('hangs')
