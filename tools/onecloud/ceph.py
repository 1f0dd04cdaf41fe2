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
import base64
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import secrets
import socket
import struct
import subprocess
import time
from typing import Any
import uuid

from onecloud import errors

# sun_path holds 108 bytes with the closing NUL.
SOCKET_PATH_MAX = 107
_LONGEST_SOCKET = 'osd.0.asok'

Caps = Mapping[str, str]

ADMIN_CAPS: Caps = {
    'mon': 'allow *',
    'mgr': 'allow *',
    'osd': 'allow *',
    'mds': 'allow *',
}

_DAEMONS: Mapping[str, Caps] = {
    'mon.': {'mon': 'allow *'},
    'mgr.x': {'mon': 'allow profile mgr', 'osd': 'allow *', 'mds': 'allow *'},
    'osd.0': {
        'mon': 'allow profile osd',
        'mgr': 'allow profile osd',
        'osd': 'allow *',
    },
}

_CONF = """\
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
run dir = {run}
crash dir = {data}/crash
log file = {log}/$name.log
# One OSD on one host: everything has one copy, which Ceph refuses
# unless told that it is meant.
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 16
osd pool default pgp num = 16
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000

[mon]
mon data = {data}/$name
admin socket = {run}/$name.asok
mon cluster log file = {log}/cluster.log
mon data avail crit = 1
mon data avail warn = 2
auth allow insecure global id reclaim = false
# Each change of a map waits for this; 1 s by default, once per pool.
paxos propose interval = 0.05
mon tick interval = 1
mon mgr digest period = 1
mon osd initial require min compat client = nautilus

[mgr]
mgr data = {data}/$name
keyring = {data}/$name/keyring
admin socket = {run}/$name.asok
mgr initial modules =
# Statistics that a test waits for are then one second old, not five.
mgr tick period = 1
mgr stats period = 1

[osd]
osd data = {data}/$name
keyring = {data}/$name/keyring
admin socket = {run}/$name.asok
osd objectstore = bluestore
bluestore block create = true
bluestore block size = {block}
osd memory target = {memory}
osd class update on start = false
osd fast shutdown = true
osd fast shutdown notify mon = true
osd pool default crush rule = 0

[client]
keyring = {etc}/$cluster.$name.keyring
# No admin socket: its name holds a pid, so its length is not known.
admin socket =
log file = /dev/null
"""


def new_key() -> str:
    """Return a fresh cephx secret, as ceph-authtool --gen-key makes it."""
    # CryptoKey: type AES (1), creation time, length, 16 random bytes.
    header = struct.pack('<hiih', 1, int(time.time()), 0, 16)
    return base64.b64encode(header + secrets.token_bytes(16)).decode()


def free_ports(count: int) -> list[int]:
    """Return TCP ports of 127.0.0.1 that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(('127.0.0.1', 0))
        return [int(sock.getsockname()[1]) for sock in sockets]


def _keyring_section(name: str, key: str, caps: Caps) -> str:
    lines = [f'[{name}]', f'\tkey = {key}']
    lines += [f'\tcaps {kind} = "{cap}"' for kind, cap in caps.items()]
    return '\n'.join(lines) + '\n'


def _write_private(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, 'w') as out:
        out.write(text)


class CephCluster:
    """Monitor, manager and one OSD below one folder.

    :param root: folder of the cluster, made if missing; its length is
        limited because Unix sockets live in it
    :param ports: the monitor's ports (messenger v2 and v1); free ones
        are chosen, and kept for later starts, if None
    :param pools: pools to make, each initialised for RBD
    :param users: further clients (``client.cinder``) with their
        capabilities; ``client.admin`` always exists
    :param block_gib: size of the OSD's sparse file
    :param memory_mib: what the OSD aims to use
    """

    def __init__(
        self,
        root: pathlib.Path,
        *,
        ports: tuple[int, int] | None = None,
        pools: Sequence[str] = ('rbd',),
        users: Mapping[str, Caps] | None = None,
        block_gib: int = 30,
        memory_mib: int = 1024,
    ) -> None:
        self.root = root.resolve()
        self.pools = tuple(pools)
        self.users: dict[str, Caps] = {
            'client.admin': ADMIN_CAPS,
            **(users or {}),
        }
        self._ports = ports
        self._block = block_gib * 2**30
        self._memory = memory_mib * 2**20
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    # Where things are.

    @property
    def etc(self) -> pathlib.Path:
        """The folder that stands for /etc/ceph."""
        return self.root / 'etc'

    @property
    def conf(self) -> pathlib.Path:
        """The cluster's ceph.conf; all a client needs."""
        return self.etc / 'ceph.conf'

    @property
    def keyring(self) -> pathlib.Path:
        """The keyring of client.admin."""
        return self.keyring_of('client.admin')

    def keyring_of(self, user: str) -> pathlib.Path:
        """Return the keyring file of a client such as client.cinder."""
        return self.etc / f'ceph.{user}.keyring'

    @property
    def run(self) -> pathlib.Path:
        """The folder of the sockets."""
        return self.root / 'run'

    @property
    def log(self) -> pathlib.Path:
        """The folder of the logs."""
        return self.root / 'log'

    @property
    def data(self) -> pathlib.Path:
        """The folder of the daemons' data."""
        return self.root / 'data'

    @property
    def fsid(self) -> str:
        """The cluster's id; known once prepared."""
        return str(self._identity()['fsid'])

    @property
    def ports(self) -> tuple[int, int]:
        """The monitor's ports, v2 and v1; known once prepared."""
        v2, v1 = self._identity()['ports']
        return v2, v1

    def _identity(self) -> dict[str, Any]:
        text = (self.root / 'identity.json').read_text()
        identity: dict[str, Any] = json.loads(text)
        return identity

    # Making it.

    def prepare(self) -> None:
        """Write configuration and keys and format; again does nothing.

        A first attempt that was cut short is thrown away: nothing in it
        was ever used.
        """
        done = self.root / 'prepared'
        if done.exists():
            return
        self._check_socket_paths()
        for folder in (self.etc, self.run, self.log, self.data):
            folder.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        self._clear_data()
        v2, v1 = self._ports or free_ports(2)
        identity = {'fsid': str(uuid.uuid4()), 'ports': [v2, v1]}
        (self.root / 'identity.json').write_text(json.dumps(identity))
        self._write_conf()
        mon_keyring = self._write_keys()
        self._format(mon_keyring)
        done.touch()

    def _check_socket_paths(self) -> None:
        longest = self.run / _LONGEST_SOCKET
        length = len(os.fsencode(longest))
        if length > SOCKET_PATH_MAX:
            raise errors.SandboxError(
                f'{self.root} is too long a path: the socket {longest} '
                f'would have {length} bytes, and a Unix socket path has '
                f'at most {SOCKET_PATH_MAX}. Choose a folder whose path '
                f'is {length - SOCKET_PATH_MAX} bytes shorter.'
            )

    def _clear_data(self) -> None:
        if any(self.data.iterdir()):
            self._run('rm', '-rf', '--', str(self.data))
            self.data.mkdir()

    def _write_conf(self) -> None:
        v2, v1 = self.ports
        self.conf.write_text(
            _CONF.format(
                fsid=self.fsid,
                v2=v2,
                v1=v1,
                run=self.run,
                log=self.log,
                data=self.data,
                etc=self.etc,
                block=self._block,
                memory=self._memory,
            )
        )

    def _write_keys(self) -> pathlib.Path:
        """Make every key; return the keyring that the monitor starts from.

        With the capabilities in there too, no `ceph auth` command is
        needed later: each would cost half a second.
        """
        sections = []
        for name, caps in {**_DAEMONS, **self.users}.items():
            section = _keyring_section(name, new_key(), caps)
            sections.append(section)
            if name in self.users:
                _write_private(self.keyring_of(name), section)
            elif name != 'mon.':
                kind, _, ident = name.partition('.')
                folder = self.data / f'{kind}.{ident}'
                _write_private(folder / 'keyring', section)
        mon_keyring = self.data / 'initial.keyring'
        _write_private(mon_keyring, ''.join(sections))
        return mon_keyring

    def _format(self, mon_keyring: pathlib.Path) -> None:
        v2, v1 = self.ports
        monmap = self.data / 'monmap'
        addresses = f'[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]'
        self._run(
            *('monmaptool', '--create', '--clobber', '--fsid', self.fsid),
            *('--addv', 'a', addresses, str(monmap)),
        )
        conf = ('--conf', str(self.conf), '--monmap', str(monmap))
        self._run(
            *('ceph-mon', *conf, '--mkfs', '-i', 'a'),
            *('--keyring', str(mon_keyring)),
        )
        self._run(
            *('ceph-osd', *conf, '--mkfs', '-i', '0', '--no-mon-config'),
            *('--osd-uuid', self.fsid),
        )
        mon_keyring.unlink()

    # Running it.

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

    # Talking to it.

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

    def _run(self, *command: str, text: str = '') -> str:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise errors.SandboxError(
                f'{" ".join(command)}: exit {done.returncode}: '
                f'{done.stderr.strip()}'
            )
        return done.stdout
