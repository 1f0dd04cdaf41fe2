# SPDX-License-Identifier: Apache-2.0

"""Capacity of a back end: its data pool and its images."""

import copy
import math
from typing import Any

from cinder import context
from cinder.db import api as db
from cinder.volume.drivers import rbd
from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import protocols

LOG = logging.getLogger(__name__)

#: The share of a pool that copies leave free, and below which the sources of
#: earlier ones are removed.
LOW = 0.1


def looking_at(driver: protocols.Driver, pool: str) -> Any:
    """Return a copy of a driver with another pool as the RBD pool.

    The stock driver computes the capacity of the pool that holds the data. It
    is a copy, because other threads create images meanwhile.
    """
    view = copy.copy(driver)
    view.configuration = copy.copy(driver.configuration)
    view.configuration.rbd_pool = pool
    return view


def provisioned(driver: protocols.Driver) -> int | None:
    """Return the size in GiB of all images of a pool; None if librbd fails.

    The stock driver skips images that it cannot open.
    """
    with rbd.RADOSClient(driver) as client:
        try:
            statistics = driver.RBDProxy().pool_stats_get(client.ioctx)
        except driver.rbd.Error as error:
            LOG.warning('Could not get the size of the images: %s', error)
            return None
    return math.ceil(int(statistics['image_provisioned_bytes']) / units.Gi)


def of_volumes(driver: protocols.Driver) -> dict[str, int]:
    """Return the size of the volumes of a back end, as a statistic.

    Without it, the scheduler uses a number that the manager of Cinder adds up.
    A migration by the driver makes that number wrong: it is never subtracted
    where the volume was, and not added where it is. The services of a cluster
    share their volumes, so nothing is reported for them.
    """
    if not driver.host or driver.cluster_name:
        return {}
    _, size = db.volume_data_get_for_host(
        context.get_admin_context(), driver.host
    )
    return {'provisioned_capacity_gb': int(size)}
