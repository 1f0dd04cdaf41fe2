# SPDX-License-Identifier: Apache-2.0

"""The services of the cloud, one file each.

To add a service, write a module with a subclass of
:class:`sandbox_cloud.contract.Service` and add it to :data:`ALL`.
"""

from __future__ import annotations

from sandbox_cloud.contract import Service
from sandbox_cloud.services.ceph import Ceph
from sandbox_cloud.services.cinder import Cinder
from sandbox_cloud.services.glance import Glance
from sandbox_cloud.services.horizon import Horizon
from sandbox_cloud.services.keystone import Keystone
from sandbox_cloud.services.libvirt import Libvirt
from sandbox_cloud.services.mariadb import MariaDB
from sandbox_cloud.services.memcached import Memcached
from sandbox_cloud.services.neutron import Neutron
from sandbox_cloud.services.nova import Nova
from sandbox_cloud.services.placement import Placement
from sandbox_cloud.services.rabbitmq import RabbitMQ

ALL: tuple[type[Service], ...] = (
    Ceph,
    MariaDB,
    RabbitMQ,
    Memcached,
    Keystone,
    Glance,
    Cinder,
    Placement,
    Neutron,
    Libvirt,
    Nova,
    Horizon,
)
