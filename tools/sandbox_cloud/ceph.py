# SPDX-License-Identifier: Apache-2.0

"""A one-node Ceph cluster in a private folder.

Uses only the standard library, so that functional tests can use it from any
virtual environment. The startup takes about ten seconds::

    with CephCluster(Path('/tmp/c'), pools=['volumes']) as cluster:
        rados.Rados(conffile=str(cluster.conf))

It does not read or write anything outside the folder, and uses no /etc/ceph,
no system user and no systemd. Several clusters can run in parallel.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import functools
import json
import os
import signal
import subprocess
import time

from sandbox_cloud import ceph_files
from sandbox_cloud import errors


class CephCluster(ceph_files.CephFiles):
    """Monitor, manager and OSDs below one folder.

    See :class:`sandbox_cloud.ceph_files.CephFiles` for the parameters.
    """

    @functools.cached_property
    def _children(self) -> dict[str, subprocess.Popen[bytes]]:
        return {}

    def daemons(self) -> dict[str, list[str]]:
        """Return the foreground command of each daemon, in startup order."""
        conf = ['--conf', str(self.conf), '--foreground']
        return {
            'mon': ['ceph-mon', *conf, '-i', 'a'],
            'mgr': ['ceph-mgr', *conf, '-i', 'x'],
            # In the usual folder of daemons: in Debian 13 the OSD looks for
            # RBD's classes in lib/x86_64-linux-gnu, a relative path.
            **{
                f'osd-{number}' if number else 'osd': [
                    *('env', '--chdir=/', 'ceph-osd', *conf),
                    *('-i', str(number)),
                ]
                for number in range(self.osds)
            },
        }

    def start(self, timeout: float = 120) -> None:
        """Start the daemons as children; return when clients can use them.

        The children end with the thread that called this method.
        """
        if self._children:
            return
        self.prepare()
        atexit.register(self.stop)
        try:
            commands = self.daemons()
            self._spawn('mon', commands.pop('mon'))
            self.register_osds()
            for name, command in commands.items():
                self._spawn(name, command)
            self.create_pools()
            self.wait_ready(timeout)
        except BaseException:
            self.stop()
            raise

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        # setpriv: a killed test run must not leave a cluster either.
        with (self.log / f'{name}.out').open('ab') as out:
            self._children[name] = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def stop(self, grace: float = 3) -> None:
        """Stop the daemons; kill the slow ones.

        Ceph's stores survive this. A monitor alone would take five seconds to
        shut down.
        """
        atexit.unregister(self.stop)
        # The monitor last: after an announced shutdown the OSD restarts
        # immediately, otherwise the monitor waits for it.
        others = [name for name in self._children if name != 'mon']
        for names in (others, ('mon',)):
            self._stop(names, grace / 2)
        self._children.clear()

    def restart(self, *names: str, timeout: float = 120) -> None:
        """Kill daemons of a running cluster and start them again.

        :param names: keys of :meth:`daemons`
        """
        self._stop(names, 0)
        commands = self.daemons()
        for name in names:
            self._spawn(name, commands[name])
        self.wait_ready(timeout)

    def stop_daemon(self, name: str) -> None:
        """Stop a daemon; :meth:`restart` starts it again."""
        self._stop([name], 5)

    @contextlib.contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Stop a daemon for a while, without an end of its connections."""
        child = self._children[name]
        child.send_signal(signal.SIGSTOP)
        # A busy daemon can still answer until all its threads have stopped.
        ended_or_stopped = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        os.waitid(os.P_PID, child.pid, ended_or_stopped)
        try:
            yield
        finally:
            child.send_signal(signal.SIGCONT)

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

    def register_osds(self) -> None:
        """Register the OSDs with a running monitor; idempotent."""
        for number, ident in enumerate(self.osd_uuids()):
            self.command('osd', 'new', ident, str(number))

    def create_pools(self) -> None:
        """Create missing pools and initialise them for RBD images."""
        # Without arguments, ceph reads commands from standard input: this
        # starts the Python program once instead of once for each pool.
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
        """Wait until OSDs, manager and all placement groups are ready."""
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
        """Return whether clients can write and statistics are available."""
        status = json.loads(self.command('status', '--format', 'json'))
        pgs = status['pgmap']
        # More states, as active+clean+snaptrim or +scrubbing, do not matter.
        serving = {
            {'active', 'clean'}.issubset(item['state_name'].split('+'))
            for item in pgs['pgs_by_state']
        }
        return (
            status['osdmap']['num_up_osds'] == self.osds
            and bool(status['mgrmap']['available'])
            and pgs['num_pools'] >= len(self.pools)
            and serving == {True}
        )

    def command(self, *args: str, text: str = '') -> str:
        """Run ``ceph`` as client.admin; return its output."""
        return self._run('ceph', '--conf', str(self.conf), *args, text=text)
