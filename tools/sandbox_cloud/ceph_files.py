# SPDX-License-Identifier: Apache-2.0

"""The files of a one-node Ceph cluster: configuration, keys and stores."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import socket
import subprocess
from typing import Any
import uuid

from sandbox_cloud import ceph_conf
from sandbox_cloud import errors
from sandbox_cloud.state import SOCKET_PATH_MAX
from sandbox_cloud.state import write_private

# The longest name of a socket in the cluster.
_LONGEST_SOCKET = 'osd.0.asok'


def free_ports(count: int) -> list[int]:
    """Return unused TCP ports of 127.0.0.1."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(('127.0.0.1', 0))
        return [int(sock.getsockname()[1]) for sock in sockets]


class CephFiles:
    """The files of a cluster, without its processes.

    :param root: folder of the cluster, created if missing; the length of
        its path is limited because it contains Unix sockets
    :param ports: the monitor's ports (messenger v2 and v1); if None, free
        ports are chosen and kept for later starts
    :param pools: pools to create and to initialise for RBD
    :param users: additional clients (``client.cinder``) with their
        capabilities; ``client.admin`` always exists
    :param osds: number of OSDs
    :param block_gib: size of an OSD's sparse file
    :param memory_mib: memory target of an OSD
    """

    def __init__(
        self,
        root: pathlib.Path,
        *,
        ports: tuple[int, int] | None = None,
        pools: Sequence[str] = ('rbd',),
        users: Mapping[str, ceph_conf.Caps] | None = None,
        osds: int = 1,
        block_gib: int = 30,
        memory_mib: int = 1024,
    ) -> None:
        self.root = root.resolve()
        self.pools = tuple(pools)
        self.users: dict[str, ceph_conf.Caps] = {
            'client.admin': ceph_conf.ADMIN_CAPS,
            **(users or {}),
        }
        self.osds = osds
        self._ports = ports
        self._block = block_gib * 2**30
        self._memory = memory_mib * 2**20

    @property
    def etc(self) -> pathlib.Path:
        """The folder that replaces /etc/ceph."""
        return self.root / 'etc'

    @property
    def conf(self) -> pathlib.Path:
        """The cluster's ceph.conf; a client needs no other file."""
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
        """The cluster's ID; available after :meth:`prepare`."""
        return str(self._identity()['fsid'])

    def osd_uuids(self) -> list[str]:
        """Return the ID of each OSD; available after :meth:`prepare`."""
        fsid = uuid.UUID(self.fsid)
        others = (uuid.uuid5(fsid, str(n)) for n in range(1, self.osds))
        return [self.fsid, *map(str, others)]

    @property
    def ports(self) -> tuple[int, int]:
        """The monitor's ports, v2 and v1; available after :meth:`prepare`."""
        v2, v1 = self._identity()['ports']
        return v2, v1

    def _identity(self) -> dict[str, Any]:
        text = (self.root / 'identity.json').read_text()
        identity: dict[str, Any] = json.loads(text)
        return identity

    def prepare(self) -> None:
        """Write configuration and keys and format the stores; idempotent.

        An interrupted first attempt is removed: it was never used.
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
            ceph_conf.CONF.format(
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
        """Create all keys; return the initial keyring of the monitor.

        It contains the capabilities too, so that no `ceph auth` command is
        needed later. Each would take half a second.
        """
        sections = []
        daemons = dict(ceph_conf.DAEMON_CAPS)
        for number in range(self.osds):
            daemons[f'osd.{number}'] = ceph_conf.OSD_CAPS
        for name, caps in {**daemons, **self.users}.items():
            section = ceph_conf.keyring_section(
                name, ceph_conf.new_key(), caps
            )
            sections.append(section)
            if name in self.users:
                write_private(self.keyring_of(name), section)
            elif name != 'mon.':
                kind, _, ident = name.partition('.')
                folder = self.data / f'{kind}.{ident}'
                write_private(folder / 'keyring', section)
        mon_keyring = self.data / 'initial.keyring'
        write_private(mon_keyring, ''.join(sections))
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
        for number, ident in enumerate(self.osd_uuids()):
            self._run(
                *('ceph-osd', *conf, '--mkfs', '-i', str(number)),
                *('--no-mon-config', '--osd-uuid', ident),
            )
        mon_keyring.unlink()

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
