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

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import json
from typing import Any

from cinder.volume.drivers import rbd

from cinder_rbd_ext import option_errors
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.cluster import defaults
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import retyping
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import growth
from rbd_volume_options import plan
from rbd_volume_options import precedence


@dataclasses.dataclass(frozen=True)
class Begun:
    """A retype, with what it was decided from.

    :ivar state: the state of the image
    :ivar recorded: the admin metadata of the volume
    :ivar given: where each part of a converted image was set; None for an
        image that was not converted
    """

    retype: retyping.Retype
    state: plan.ImageState
    recorded: Mapping[str, str]
    given: Mapping[precedence.Part, errors.Origin] | None = None


class InPlace:
    """Changes existing images and checks whether changes are possible.

    :param driver: the driver, which provides connections and settings
    :param images: the images in its pool
    """

    def __init__(self, driver: Any, images: lookup.ImageLookup) -> None:
        self._driver = driver
        self._images = images

    @contextlib.contextmanager
    def extending(self, volume: Any) -> Iterator[None]:
        """Check the layout and the object map before a volume is extended.

        The check is on the image that the stock driver opens, which replaces
        each exception by its own.

        :raises VolumeOptionRefused: if they do not allow the size
        """
        with option_errors.of_volume(
            volume,
            self._driver.backend_name,
            user_messages.Operation.EXTENSION,
            told_by_cinder=True,
        ):
            yield from self._checking(volume)

    def _checking(self, volume: Any) -> Iterator[None]:
        recorded = record.items_of(volume.id)
        given: Mapping[precedence.Part, errors.Origin] = {}
        # The API ignores an invalid record too, and must decide the same.
        if record.read(recorded):
            given = sources.origins_of(volume, recorded)
        refused: list[errors.OptionError] = []

        def check(image: Any, size: int) -> None:
            try:
                growth.check(
                    existing.state_of(image),
                    given,
                    size,
                    self._driver.settings.limits,
                )
            except errors.OptionError as error:
                refused.append(error)
                raise

        with self._driver.librbd.checking_size(volume.name, check):
            try:
                yield
            except Exception as error:
                if refused:
                    raise refused[0] from error
                raise

    def begin(self, volume: Any, new_type: Any) -> Begun:
        """Return the retype of a volume to a new type.

        :raises OptionError: for options that are not possible on any volume
        """
        with rbd.RADOSClient(self._driver) as client:
            ceph = defaults.of_client(self._driver, client)
            state = self._images.state_of(
                volume.name, client=client.cluster, ioctx=client.ioctx
            )
        recorded = record.items_of(volume.id)
        retype = retyping.Retype(
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
        return Begun(retype, state, recorded)

    def apply(self, volume: Any, begun: Begun) -> None:
        """Give the image of a volume the features of the new type.

        The image is opened only if it changes, or if the stock driver has
        changed it.
        """
        retype, state = begun.retype, begun.state
        change = retype.change(state)
        if retype.stock_changes or change.enable or change.disable:
            with self._images.opened(volume.name) as image:
                change = retype.change(self._images.read(image))
                existing.disable(image, change.disable)
                if existing.enable(image, change.enable) & features.MAP_OFF:
                    self._rebuild_object_maps(image, volume.name)
                state = self._images.read(image)
        given = begun.given
        if given is None and (change.enable or change.disable):
            # Clones of this volume inherit the features as set by the new
            # type.
            there = sources.origins_of(volume, begun.recorded)
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
