# SPDX-License-Identifier: Apache-2.0

"""RBD images of ephemeral disks (``[libvirt] images_type = rbd``).

Nova creates them in two ways: it clones a Glance image, or it runs ``rbd
import``. Both are methods of ``nova.storage.rbd_utils.RBDDriver``.
"""

import copy
from typing import Any

import nova.conf
from nova.storage import rbd_utils
from oslo_log import log as logging

from nova_rbd_cache import settings
from rbd_volume_options import features
from rbd_volume_options import ownership

LOG = logging.getLogger(__name__)

STOCK = rbd_utils.RBDDriver


class EphemeralRBDDriver(STOCK):  # type: ignore[misc,valid-type]
    """Creates RBD images with the features that the operator configured.

    Each stock method runs on a copy of the driver in which one method is
    replaced for that call.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ephemeral = settings.read(nova.conf.CONF).ephemeral

    def clone(
        self, image_location: Any, dest_name: str, dest_pool: Any = None
    ) -> None:
        """Clone a Glance image for a disk.

        If a pool is named, Nova clones a disk for Glance while it creates a
        snapshot of a server. That image has the features of stock Nova.
        """
        maker = self
        if dest_pool is None and self._ephemeral.chosen:
            # The stock method uses rbd_default_features of the connection.
            maker = self._view('_connect_to_rados', self._connect_asking)
        super(EphemeralRBDDriver, maker).clone(
            image_location, dest_name, dest_pool=dest_pool
        )
        self._mark(dest_name, dest_pool)

    def import_image(self, base: str, name: str) -> None:
        """Create a disk from a file."""
        words = list(self.ceph_args())
        if self._ephemeral.chosen:
            for feature in sorted(self._import_features()):
                words += ['--image-feature', feature]
        maker = self._view('ceph_args', lambda: words)
        super(EphemeralRBDDriver, maker).import_image(base, name)
        self._mark(name)

    def _mark(self, name: str, pool: Any = None) -> None:
        """Write the mark of this cloud to a new image, if it has an ID."""
        if not self._ephemeral.cloud_id:
            return
        try:
            with rbd_utils.RADOSClient(self, pool) as client:
                ownership.write_named(
                    client.ioctx, name, self._ephemeral.cloud_id
                )
        except Exception:
            # The image is complete without it, and never removed as a
            # leftover.
            LOG.exception('Could not mark image %s', name)

    def _view(self, name: str, instead: Any) -> 'EphemeralRBDDriver':
        view = copy.copy(self)
        setattr(view, name, instead)
        return view

    def _connect_asking(self, pool: Any = None) -> tuple[Any, Any]:
        """Connect, with our features as the default of the connection."""
        client, ioctx = self._connect_to_rados(pool)
        # Stock Nova treats unset and 0 as layering.
        mask = int(client.conf_get('rbd_default_features') or 0)
        stock = features.from_mask(mask) or frozenset({features.LAYERING})
        wanted = features.to_mask(self._ephemeral.features(stock))
        client.conf_set('rbd_default_features', str(wanted))
        return client, ioctx

    def _import_features(self) -> features.Features:
        stock = features.Features()
        if not self._ephemeral.whole:
            with rbd_utils.RADOSClient(self) as client:
                stock = features.from_mask(client.features)
        return self._ephemeral.features(stock) & features.CHOOSABLE
