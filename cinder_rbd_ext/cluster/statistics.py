# SPDX-License-Identifier: Apache-2.0

"""The statistics that a back end reports to Cinder's scheduler."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext.cluster import capacity
from rbd_volume_options import backend_settings
from rbd_volume_options import features

LOG = logging.getLogger(__name__)

#: The maximum number of pools that are reported.
MAXIMUM = 50

# The application of the pools of RBD images.
_RBD = 'rbd'


def added(
    driver: protocols.Driver, stock: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the driver adds to the statistics of the stock driver."""
    settings = driver.settings
    if stock['backend_state'] == 'up':
        with rbd.RADOSClient(driver) as client:
            settings = dataclasses.replace(
                settings,
                ceph_features=features.from_mask(client.features),
                ceph_striping=driver.rbd.default_striping(client.ioctx),
                data_pools=data_pools_of(driver, client),
            )
    provisioned = {}
    if 'provisioned_capacity_gb' not in stock:
        provisioned = capacity.of_volumes(driver)
    return {
        **backend_settings.reported(settings),
        **backend_settings.location_of(settings, stock),
        **provisioned,
    }


def data_pools_of(
    driver: protocols.Driver, client: protocols.Client
) -> tuple[str, ...] | None:
    """Return the other pools with the application ``rbd``, sorted.

    The operator can list those that volume types may have.

    The client has the map of all pools, so this sends no requests. None if the
    cluster does not respond.
    """
    offered = driver.configuration.safe_get(backend_settings.RBD_DATA_POOLS)
    try:
        pools = [
            pool
            for pool in sorted(client.cluster.list_pools())
            if pool != driver.configuration.rbd_pool
            and (not offered or pool in offered)
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
    return tuple(pools[:MAXIMUM])


def _has_application(
    driver: protocols.Driver, cluster: Any, pool: str
) -> bool:
    try:
        with cluster.open_ioctx(pool) as ioctx:
            return _RBD in ioctx.application_list()
    except driver.rados.Error:
        # The pool was deleted in the meantime.
        return False
