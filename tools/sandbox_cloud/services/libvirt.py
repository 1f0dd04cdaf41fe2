# SPDX-License-Identifier: Apache-2.0

"""libvirt: libvirtd with its own folders, and QEMU."""

from __future__ import annotations

import functools
import pathlib
from typing import ClassVar
import uuid

from sandbox_cloud import compute_hosts
from sandbox_cloud import packages
from sandbox_cloud.compute_hosts import ComputeHost
from sandbox_cloud.contract import Service
from sandbox_cloud.guest_image import GuestImage
from sandbox_cloud.program import Program
from sandbox_cloud.state import write_private

_KEY = """\
<secret ephemeral='no' private='no'>
  <uuid>{uuid}</uuid>
  <usage type='ceph'><name>client.cinder secret</name></usage>
</secret>
"""
# What a host with libvirt and QEMU of another release of Debian requires.
_PACKAGES = ('libvirt-daemon-system', 'qemu-system-x86', 'qemu-block-extra')
# Each connection of a guest to Ceph has an admin socket of librbd:
# <process>.<number>.asok.
_GUESTS_CLIENT = """
[client]
admin socket = {sockets}/$pid.$cctid.asok
"""


class Libvirt(Service):
    """The hypervisors of the compute hosts."""

    name: ClassVar[str] = 'libvirt'
    # Guests' disks authenticate to Ceph as Cinder.
    requires: ClassVar[tuple[str, ...]] = ('ceph',)

    @property
    def hosts(self) -> list[ComputeHost]:
        """The compute hosts."""
        return compute_hosts.all_of(self.state)

    def conf(self, host: ComputeHost) -> pathlib.Path:
        """Return a host's configuration file of libvirtd."""
        return self.etc / f'libvirtd{host.suffix}.conf'

    def qemu_conf(self, host: ComputeHost) -> pathlib.Path:
        """Return a host's configuration file of QEMU."""
        return host.libvirt / 'etc' / 'qemu.conf'

    @property
    def secret_uuid(self) -> uuid.UUID:
        """The UUID of the key with which disks authenticate to Ceph."""
        return self.state.uuid('libvirt')

    @property
    def guest(self) -> GuestImage:
        """The boot image of servers; created once, for all later clouds."""
        return GuestImage(
            self.state.root / 'guest', self.state.log / 'guest.log'
        )

    def render(self) -> None:
        """Write the configuration of libvirtd and QEMU."""
        (self.state.run / 'librbd').mkdir(mode=0o700, exist_ok=True)
        for host in self.hosts:
            host.sockets.mkdir(mode=0o700, exist_ok=True)
            self.runtime.render('libvirtd.conf', self.conf(host), host=host)
            self.runtime.render('qemu.conf', self.qemu_conf(host), host=host)
        shim = self.state.bin / 'with-libvirt'
        self.runtime.render('with-libvirt', shim)
        shim.chmod(0o700)

    def programs(self) -> tuple[Program, ...]:
        """Return each host's libvirtd."""
        return tuple(self._program(host) for host in self.hosts)

    def _program(self, host: ComputeHost) -> Program:
        shim = self.state.bin / 'with-libvirt'
        conf = self.conf(host)
        command = (
            *(str(shim), str(host.libvirt), host.name, host.root),
            *('/usr/sbin/libvirtd', '--config', str(conf)),
            *('--pid-file', str(host.sockets / 'libvirtd.pid')),
        )
        inputs = (conf, self.qemu_conf(host), shim)
        return Program(f'libvirtd{host.suffix}', command, inputs=inputs)

    def initialise(self) -> None:
        """Create the guest image, and install another release's libvirt."""
        self.guest.make()
        for host in self.hosts:
            if host.root:
                packages.bring_release(
                    self.state.libvirt,
                    pathlib.Path(host.root),
                    _PACKAGES,
                    self.state.log / 'apt.log',
                )

    def start(self) -> None:
        """Write ceph.conf for guests, and start libvirtd."""
        ceph = self.services['ceph'].etc / 'ceph.conf'
        client = _GUESTS_CLIENT.format(sockets=self.state.run / 'librbd')
        for host in self.hosts:
            path = host.libvirt / 'ceph' / 'ceph.conf'
            write_private(path, ceph.read_text() + client)
        super().start()

    def wait(self) -> None:
        """Wait until each libvirtd answers; define its secret."""
        for host in self.hosts:
            path = host.sockets / 'libvirt-sock'
            self._wait(f'have {path}', path.exists)
            self.state.once(
                f'libvirt{host.suffix}-secret',
                functools.partial(self._define_secret, host),
            )

    def _define_secret(self, host: ComputeHost) -> None:
        definition = host.libvirt / 'secret.xml'
        ident = str(self.secret_uuid)
        write_private(definition, _KEY.format(uuid=ident))
        keyring = self.services['ceph'].etc / 'ceph.client.cinder.keyring'
        (key,) = (
            line.split()[-1]
            for line in keyring.read_text().splitlines()
            if line.strip().startswith('key = ')
        )
        key_file = host.libvirt / 'secret.key'
        write_private(key_file, key)
        virsh = ('virsh', '-c', host.uri)
        for command in (
            ('secret-define', '--file', str(definition)),
            ('secret-set-value', ident, '--file', str(key_file)),
        ):
            self.runtime.execute('virsh', *virsh, *command)
        key_file.unlink()
