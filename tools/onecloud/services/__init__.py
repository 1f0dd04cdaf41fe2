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

To add one, write a module with a subclass of
:class:`onecloud.service.Service` and name it in :data:`ALL`.
"""

from __future__ import annotations

from onecloud.service import Service
from onecloud.services.ceph import Ceph
from onecloud.services.cinder import Cinder
from onecloud.services.glance import Glance
from onecloud.services.horizon import Horizon
from onecloud.services.keystone import Keystone
from onecloud.services.libvirt import Libvirt
from onecloud.services.mariadb import MariaDB
from onecloud.services.memcached import Memcached
from onecloud.services.neutron import Neutron
from onecloud.services.nova import Nova
from onecloud.services.placement import Placement
from onecloud.services.rabbitmq import RabbitMQ

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
