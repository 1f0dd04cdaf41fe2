# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import subprocess
import sys
import time

import ddt
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
    """Ends or hangs as the words of a file require, and then answers."""

    def __init__(self, how: str) -> None:
        self._how = pathlib.Path(how)

    def state(self, pool: str, name: str) -> str:
        """Return a state, if no word is left."""
        words = self._how.read_text().split()
        self._how.write_text(' '.join(words[1:]))
        if words[:1] == ['ended']:
            os._exit(1)
        if words:
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
    try:
        print(cluster.state('volumes', 'v'), flush=True)
    except RuntimeError as error:
        print(error)
    cluster._process.shutdown()


@ddt.ddt
class ClusterTest(base.TestCase):
    def shown(self, how: str) -> str:
        """Return what a request shows."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'how')
        path.write_text(how)
        return subprocess.check_output(
            [sys.executable, '-c', _PROGRAM, str(path)],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': f'{tree.ROOT / "tools"}'},
            text=True,
            timeout=100,
        )

    @ddt.data('ended', 'hangs')
    def test_request_is_repeated_in_another_process(self, how: str) -> None:
        shown = self.shown(how)
        message = f'  the process that uses Ceph {how} in state'
        self.assertEqual([message, 'volumes/v'], shown.splitlines())

    def test_second_process_that_hangs_is_an_error(self) -> None:
        shown = self.shown('ended hangs')
        self.assertIn('the second process hangs in state, too', shown)
