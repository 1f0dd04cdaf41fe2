# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A one-node Ceph cluster in a private folder.

Standard library only, so that functional tests can use it from any
virtual environment; it takes some ten seconds to start::

    with CephCluster(Path('/tmp/c'), pools=['volumes']) as cluster:
        rados.Rados(conffile=str(cluster.conf))

Nothing outside the folder is read or written: no /etc/ceph, no system
user, no systemd. Several clusters can run side by side.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
import contextlib
import functools
import json
import subprocess
import time

from sandbox_cloud import ceph_files
from sandbox_cloud import errors


class CephCluster(ceph_files.CephFiles):
    """Monitor, manager and one OSD below one folder.

    See :class:`sandbox_cloud.ceph_files.CephFiles` for what it is made from.
    """

    @functools.cached_property
    def _children(self) -> dict[str, subprocess.Popen[bytes]]:
        return {}

    def daemons(self) -> dict[str, list[str]]:
        """Return each daemon's command, in the foreground, in order."""
        conf = ['--conf', str(self.conf), '--foreground']
        return {
            'mon': ['ceph-mon', *conf, '-i', 'a'],
            'mgr': ['ceph-mgr', *conf, '-i', 'x'],
            'osd': ['ceph-osd', *conf, '-i', '0'],
        }

    def start(self, timeout: float = 120) -> None:
        """Start the daemons as children; return when clients can work.

        The children die with the thread that called this.
        """
        if self._children:
            return
        self.prepare()
        atexit.register(self.stop)
        try:
            commands = self.daemons()
            self._spawn('mon', commands['mon'])
            self.register_osd()
            for name in ('mgr', 'osd'):
                self._spawn(name, commands[name])
            self.create_pools()
            self.wait_ready(timeout)
        except BaseException:
            self.stop()
            raise

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        # setpriv: even a killed test run must not leave a cluster.
        with (self.log / f'{name}.out').open('ab') as out:
            self._children[name] = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *command],
                # As daemons have it. In Debian 13 the OSD looks for the
                # classes of RBD in lib/x86_64-linux-gnu, from where it is.
                cwd='/',
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def stop(self, grace: float = 3) -> None:
        """Stop the daemons, the slow ones the hard way.

        Ceph's stores are made to be killed; a monitor alone would take
        five seconds to end in good order.
        """
        atexit.unregister(self.stop)
        # The monitor last: an OSD that says good-bye restarts at once,
        # one that vanished is waited for.
        for names in (('osd', 'mgr'), ('mon',)):
            self._stop(names, grace / 2)
        self._children.clear()

    def _stop(self, names: Sequence[str], grace: float) -> None:
        deadline = time.monotonic() + grace
        children = [
            self._children[name] for name in names if name in self._children
        ]
        for child in children:
            child.terminate()
        for child in children:
            left = max(0.0, deadline - time.monotonic())
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(left)
        for child in children:
            child.kill()
            child.wait()

    def __enter__(self) -> CephCluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def register_osd(self) -> None:
        """Tell a running monitor about the OSD; again does nothing."""
        self.command('osd', 'new', self.fsid)

    def create_pools(self) -> None:
        """Make the pools that are missing, ready for RBD images."""
        # Without arguments ceph reads commands from standard input: one
        # start of that Python program instead of one for each pool.
        self.command(
            text=''.join(f'osd pool create {name} 16\n' for name in self.pools)
        )
        children = [
            subprocess.Popen(
                ['rbd', '--conf', str(self.conf), 'pool', 'init', name],
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in self.pools
        ]
        for name, child in zip(self.pools, children, strict=True):
            _, error = child.communicate()
            if child.returncode:
                raise errors.SandboxError(f'rbd pool init {name}: {error}')

    def wait_ready(self, timeout: float = 120) -> None:
        """Wait until OSD, manager and all placement groups are there."""
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            dead = [
                name
                for name, child in self._children.items()
                if child.poll() is not None
            ]
            if dead or time.monotonic() > deadline:
                why = f'{", ".join(dead)} ended' if dead else 'too slow'
                raise errors.SandboxError(
                    f'Ceph did not start ({why}); see {self.log}'
                )
            time.sleep(0.2)

    def is_ready(self) -> bool:
        """Say whether clients can write and statistics are known."""
        status = json.loads(self.command('status', '--format', 'json'))
        pgs = status['pgmap']
        states = {item['state_name'] for item in pgs['pgs_by_state']}
        return (
            status['osdmap']['num_up_osds'] == 1
            and bool(status['mgrmap']['available'])
            and pgs['num_pools'] >= len(self.pools)
            and states == {'active+clean'}
        )

    def command(self, *args: str, text: str = '') -> str:
        """Run ``ceph`` as client.admin; return what it prints."""
        return self._run('ceph', '--conf', str(self.conf), *args, text=text)
