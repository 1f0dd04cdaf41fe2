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

"""The compute hosts of the cloud: one, or two to migrate servers between.

Both are on this machine. Each has a libvirtd with folders, sockets and a host
name of its own, and a nova-compute. They share the folder of the instances
and the address, by which Nova takes them for hosts with a shared file system
and asks no SSH.
"""

from __future__ import annotations

import dataclasses
import pathlib
import uuid

from sandbox_cloud.state import State

#: As many as there can be.
MOST = 2


@dataclasses.dataclass(frozen=True)
class ComputeHost:
    """A compute host: 1, which is always there, or 2."""

    state: State
    number: int

    @property
    def suffix(self) -> str:
        """What tells its programs and files from those of the first."""
        return '' if self.number == 1 else str(self.number)

    @property
    def name(self) -> str:
        """Its name, for Nova and for libvirt."""
        return f'sandbox{self.suffix}'

    @property
    def address(self) -> str:
        """Where the memory of guests that migrate to it comes in."""
        return f'127.0.0.{self.number}'

    @property
    def uuid(self) -> uuid.UUID:
        """Its own, for libvirt: it tells two on one machine apart."""
        return self.state.uuid(f'libvirt-host{self.suffix}')

    @property
    def libvirt(self) -> pathlib.Path:
        """What libvirtd finds in the place of the machine's folders."""
        return self.state.data / f'libvirt{self.suffix}'

    @property
    def sockets(self) -> pathlib.Path:
        """The folder of libvirtd's sockets."""
        return self.state.run / f'virt-{self.address}'

    @property
    def uri(self) -> str:
        """What libvirt's clients connect to."""
        return uri(self.state.run, self.address)

    @property
    def nova(self) -> pathlib.Path:
        """What nova-compute keeps."""
        return self.state.data / f'nova{self.suffix}'


def uri(run: pathlib.Path, address: str) -> str:
    """Return what libvirt's clients connect to on a host of a run."""
    return f'qemu+unix:///system?socket={run}/virt-{address}/libvirt-sock'


def all_of(state: State) -> list[ComputeHost]:
    """Return the compute hosts that a cloud has."""
    return [ComputeHost(state, n + 1) for n in range(state.computes)]
