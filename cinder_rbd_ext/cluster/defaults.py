# SPDX-License-Identifier: Apache-2.0

"""Defaults of Ceph's configuration for a new image.

librbd reads them from the configuration of the pool, from ``ceph.conf`` and
from the monitors.
"""

import dataclasses

from cinder_rbd_ext import protocols
from rbd_volume_options import features
from rbd_volume_options import layout


@dataclasses.dataclass(frozen=True)
class Defaults:
    """The defaults of the cluster for a new image.

    :ivar striping: None if images are not striped, or if it was not queried
    """

    image_features: features.Features
    striping: layout.Striping | None


def of_client(
    driver: protocols.Driver,
    client: protocols.Client,
    with_striping: bool = True,
) -> Defaults:
    """Return the defaults for the images of a back end."""
    striping = None
    if with_striping:
        striping = driver.rbd.default_striping(client.ioctx)
    return Defaults(features.from_mask(client.features), striping)
