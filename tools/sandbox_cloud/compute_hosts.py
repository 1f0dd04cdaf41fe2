# SPDX-License-Identifier: Apache-2.0

"""The compute hosts of the cloud: one, or two to migrate servers between.

Both are on this machine. Each has a nova-compute, and a libvirtd with its own
folders, sockets and host name. They share the folder of the instances and the
address. Nova therefore treats them as hosts with a shared file system and does
not use SSH.
"""

from __future__ import annotations

import dataclasses
import pathlib
import uuid

from sandbox_cloud.state import State

#: The maximum number of compute hosts.
MOST = 2


@dataclasses.dataclass(frozen=True)
class ComputeHost:
    """A compute host: 1, which always exists, or 2."""

    state: State
    number: int

    @property
    def suffix(self) -> str:
        """The suffix of its programs and files; empty for the first host."""
        return '' if self.number == 1 else str(self.number)

    @property
    def name(self) -> str:
        """Its name, for Nova and for libvirt."""
        return f'sandbox{self.suffix}'

    @property
    def address(self) -> str:
        """The address for the memory of guests that migrate to it."""
        return f'127.0.0.{self.number}'

    @property
    def uuid(self) -> uuid.UUID:
        """Its UUID in libvirt, which distinguishes hosts on one machine."""
        return self.state.uuid(f'libvirt-host{self.suffix}')

    @property
    def libvirt(self) -> pathlib.Path:
        """The folder that replaces the machine's folders for libvirtd."""
        return self.state.data / f'libvirt{self.suffix}'

    @property
    def root(self) -> str:
        """The folder of the Debian release of libvirt; empty for ours.

        Only the first host has another release. So the newer of two hosts has
        what the machine's libvirt may lack.
        """
        if self.number > 1 or not self.state.libvirt:
            return ''
        return str(self.state.root / f'libvirt-{self.state.libvirt}')

    @property
    def sockets(self) -> pathlib.Path:
        """The folder of libvirtd's sockets."""
        return self.state.run / f'virt-{self.address}'

    @property
    def uri(self) -> str:
        """The URI for libvirt's clients."""
        return uri(self.state.run, self.address)

    @property
    def nova(self) -> pathlib.Path:
        """The data of nova-compute."""
        return self.state.data / f'nova{self.suffix}'


def uri(run: pathlib.Path, address: str) -> str:
    """Return the URI for libvirt's clients on a host of a run."""
    return f'qemu+unix:///system?socket={run}/virt-{address}/libvirt-sock'


def all_of(state: State) -> list[ComputeHost]:
    """Return the compute hosts of a cloud."""
    return [ComputeHost(state, n + 1) for n in range(state.computes)]
