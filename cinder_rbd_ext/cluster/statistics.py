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

"""The statistics that a back end reports to Cinder's scheduler."""

from collections.abc import Mapping
from typing import Any

from cinder.volume.drivers import rbd

from cinder_rbd_ext import capabilities
from cinder_rbd_ext.cluster import data_pools
from cinder_rbd_ext.cluster import defaults
from rbd_volume_options import wire


def added(driver: Any, stock: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics that the driver adds to those of the stock driver.

    :param driver: the driver, which provides connections and settings
    :param stock: the statistics of the stock driver
    """
    ceph, pools = defaults.UNKNOWN, None
    if stock['backend_state'] == 'up':
        with rbd.RADOSClient(driver) as client:
            ceph = defaults.of_client(driver, client)
            pools = data_pools.of_client(driver, client)
    running, waiting = driver.slow_deletions
    return {
        wire.RBD_SLOW_DELETIONS: running,
        wire.RBD_SLOW_DELETIONS_WAITING: waiting,
        **capabilities.reported(
            driver.settings, ceph.image_features, ceph.striping, pools
        ),
        **capabilities.location_of(driver.settings, stock),
    }
