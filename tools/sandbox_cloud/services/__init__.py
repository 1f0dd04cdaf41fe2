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
