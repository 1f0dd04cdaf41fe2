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

"""Changes of a volume's image in place: extend, retype."""

import dataclasses
import json
from typing import Any

from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.cluster import defaults
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import changes
from cinder_rbd_ext.lifecycle import retyping
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import precedence

LOG = logging.getLogger(__name__)


class InPlace:
    """Changes existing images and checks whether changes are possible.

    :param driver: the driver, which provides connections and settings
    :param images: the images in its pool
    """

    def __init__(self, driver: Any, images: lookup.ImageLookup) -> None:
        self._driver = driver
        self._images = images

    def check_extended(self, volume: Any, new_size: Any) -> None:
        """Check that the layout and the object map of a volume allow a size.

        :param new_size: in GiB
        :raises OptionError: if they do not
        """
        changes.check_extended(
            self._images.state_of(volume.name),
            sources.origins_of(volume, record.items_of(volume.id)),
            int(new_size) * units.Gi,
            self._driver.settings.limits,
        )

    def retype(self, volume: Any, new_type: Any) -> retyping.Retype:
        """Return the retype of a volume to a new type."""
        ceph = defaults.of_back_end(self._driver)
        recorded = record.items_of(volume.id)
        return retyping.Retype(
            request.metadata_of(volume),
            request.specs_of(volume.volume_type),
            request.specs_of(new_type),
            dataclasses.replace(
                self._driver.settings,
                ceph_features=ceph.image_features,
                ceph_striping=ceph.striping,
            ),
            volume.size,
            sources.layout_requested(volume, recorded),
            sources.features_requested(volume, recorded),
        )

    def possible(self, volume: Any, retype: retyping.Retype) -> bool:
        """Return whether a retype is possible without a migration.

        :raises OptionError: for options that are not possible on any volume
        """
        state = self._images.state_of(volume.name)
        obstacle = retype.change(state).obstacle
        if obstacle:
            LOG.info(
                'Retype of volume %(id)s needs a migration: %(why)s',
                {'id': volume.id, 'why': obstacle},
            )
        return obstacle is None

    def apply(self, volume: Any, retype: retyping.Retype) -> None:
        """Give the image of a volume the features of the new type."""
        # Read again, because the stock driver has enabled or disabled features
        # for the new type.
        change = retype.change(self._images.state_of(volume.name))
        with self._images.opened(volume.name) as image:
            existing.disable(image, change.disable)
            if existing.enable(image, change.enable) & features.MAP_OFF:
                self._rebuild_object_maps(image, volume.name)
            state = self._driver.rbd.state_of(image)
        given = None
        if change.enable or change.disable:
            # Clones of this volume inherit the features as set by the new
            # type.
            there = sources.origins_of(volume, record.items_of(volume.id))
            origin = errors.Origin.VOLUME_TYPE
            if change.to_default:
                origin = errors.Origin.CLUSTER
            given = {
                **dict.fromkeys(precedence.Part, errors.Origin.CLUSTER),
                **there,
                precedence.Part.FEATURES: origin,
            }
        record.made(volume.id, state, record.backend_of(volume), given)

    def give_back_features(self, volume: Any) -> None:
        """Restore the features that multi-attach disabled, with valid maps.

        The stock driver enables the object map and leaves it invalid. An
        invalid map is worse than none, because a deletion still looks for each
        object.
        """
        saved = json.loads(volume.provider_location or '{}')
        wanted = features.from_mask(saved.get('saved_features', 0))
        with self._images.opened(volume.name) as image:
            existing.enable(image, wanted & features.SINGLE_CLIENT)
            self._rebuild_object_maps(image, volume.name)

    def _rebuild_object_maps(self, image: Any, name: str) -> None:
        def at(snapshot: str) -> Any:
            return self._images.opened(name, snapshot=snapshot)

        existing.rebuild_object_maps(image, at)
