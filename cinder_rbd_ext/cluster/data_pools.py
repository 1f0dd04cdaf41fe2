#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The pools of a cluster that can be data pools.

The form for extra specs lists them. Whether the Ceph user of the back end can
write to a pool is checked when a volume is created in it
(:mod:`cinder_rbd_ext.cluster.write_probe`).
"""

from typing import Any

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: The maximum number of pools that are reported.
MAXIMUM = 50
# The application of the pools of RBD images.
_RBD = 'rbd'


def of_client(driver: Any, client: Any) -> list[str] | None:
    """Return the pools with the application ``rbd``, without the own one.

    The client already has the map of all pools, so this sends no requests.

    :param client: a connection of the driver
    :returns: sorted names; None if the cluster does not respond
    """
    try:
        pools = [
            pool
            for pool in sorted(client.cluster.list_pools())
            if pool != driver.configuration.rbd_pool
            and _has_application(driver, client.cluster, pool)
        ]
    except driver.rados.Error as error:
        LOG.warning('Could not list the pools: %s', error)
        return None
    if len(pools) > MAXIMUM:
        LOG.info(
            'Only %(maximum)d of %(count)d pools are reported as data pools',
            {'maximum': MAXIMUM, 'count': len(pools)},
        )
    return pools[:MAXIMUM]


def _has_application(driver: Any, cluster: Any, pool: str) -> bool:
    try:
        with cluster.open_ioctx(pool) as ioctx:
            return _RBD in ioctx.application_list()
    except driver.rados.Error:
        # The pool was deleted in the meantime.
        return False
