# SPDX-License-Identifier: Apache-2.0

"""Ceph: the cluster of :mod:`sandbox_cloud.ceph` under the supervisor."""

from __future__ import annotations

import pathlib
from typing import ClassVar

from sandbox_cloud.ceph import CephCluster
from sandbox_cloud.ceph_conf import Caps
from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program

_POOLS = (
    'volumes',
    'volumes2',
    'volumes-data',
    'images',
    'images2',
    'backups',
    'vms',
)


def _caps(*pools: str) -> Caps:
    profiles = ', '.join(f'profile rbd pool={pool}' for pool in pools)
    return {'mon': 'profile rbd', 'osd': profiles, 'mgr': profiles}


_USERS = {
    'client.cinder': _caps(
        'volumes', 'volumes2', 'volumes-data', 'images', 'images2', 'vms'
    ),
    'client.cinder-backup': _caps('backups'),
    # Without the pools of volumes: a user who can set the location of an image
    # could otherwise read a volume of another project.
    'client.glance': _caps('images', 'images2'),
}


class Ceph(Service):
    """Monitor, manager and OSDs."""

    name: ClassVar[str] = 'ceph'
    ports: ClassVar[tuple[int, ...]] = (3300, 6789)

    @property
    def cluster(self) -> CephCluster:
        """The cluster, for other services."""
        return CephCluster(
            self.state.run / 'ceph',
            ports=(self.ports[0], self.ports[1]),
            pools=_POOLS,
            users=_USERS,
            osds=self.state.osds,
        )

    @property
    def etc(self) -> pathlib.Path:
        """The folder that replaces /etc/ceph."""
        return self.cluster.etc

    def programs(self) -> tuple[Program, ...]:
        """Return the daemons."""
        return tuple(
            Program(f'ceph-{name}', tuple(command))
            for name, command in self.cluster.daemons().items()
        )

    def initialise(self) -> None:
        """Create keys and format the stores."""
        self.cluster.prepare()

    def start(self) -> None:
        """Start the daemons; register the OSDs before they start."""
        self.runtime.supervisor.start('ceph-mon')
        self.state.once('ceph-osd', self.cluster.register_osds)
        for program in self.programs():
            if program.name != 'ceph-mon':
                self.runtime.supervisor.start(program.name)
        self.state.once('ceph-pools', self.cluster.create_pools)

    def wait(self) -> None:
        """Wait for all placement groups."""
        self.cluster.wait_ready()
