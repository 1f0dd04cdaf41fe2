# SPDX-License-Identifier: Apache-2.0

"""Defaults of Ceph's configuration for a new image.

librbd reads them from the configuration of the pool, from ``ceph.conf`` and
from the monitors.
"""

import dataclasses

from cinder.volume.drivers import rbd

from cinder_rbd_ext import protocols
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan


@dataclasses.dataclass(frozen=True)
class Defaults:
    """The defaults of the cluster for a new image.

    :ivar image_features: None if the cluster was not queried
    :ivar striping: None if images are not striped, or if the cluster was not
        queried
    """

    image_features: features.Features | None
    striping: layout.Striping | None

    def image(self, object_size: int) -> plan.ImageState:
        """Return the image that the stock driver creates for an empty volume.

        :param object_size: the object size of the back end, in bytes
        """
        return plan.stock_image(
            object_size, self.striping, self.image_features
        )


#: The defaults if the cluster could not be queried.
UNKNOWN = Defaults(None, None)


def of_back_end(
    driver: protocols.Driver, with_striping: bool = True
) -> Defaults:
    """Return the defaults for the images of a back end.

    :param with_striping: whether to query the striping
    """
    with rbd.RADOSClient(driver) as client:
        return of_client(driver, client, with_striping)


def of_client(
    driver: protocols.Driver,
    client: protocols.Client,
    with_striping: bool = True,
) -> Defaults:
    """Return the same as :func:`of_back_end`, on an existing connection."""
    striping = None
    if with_striping:
        striping = driver.rbd.default_striping(client.ioctx)
    return Defaults(features.from_mask(client.features), striping)
