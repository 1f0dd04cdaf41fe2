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

"""What a volume is made from, and the plans that follow from it."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from oslo_config import cfg

from cinder_rbd_ext import record
from cinder_rbd_ext import request
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import precedence

CONF = cfg.CONF


def is_cached_image(volume: Any) -> bool:
    """Return whether a volume is an entry of Cinder's image-volume cache.

    Those belong to Cinder's internal tenant.
    """
    internal = CONF.cinder_internal_tenant_project_id
    return bool(internal) and volume.project_id == internal


def of_volume(
    source: Any,
    state: plan.ImageState,
    recorded: Mapping[str, str],
    chunk_size: int,
) -> inheritance.Source:
    """Return a volume as the source of another one.

    A cached image stands for the Glance image. It looks as whoever asked for
    that image first wanted a volume to look, which is nobody else's wish:
    it counts as an image without a layout of its own.

    :param source: Cinder's volume object
    :param state: its RBD image
    :param recorded: its admin metadata
    :param chunk_size: object size in bytes of what stock creates
    """
    if is_cached_image(source):
        plain = plan.ImageState(layout.ImageLayout(chunk_size), frozenset())
        return request.glance_source(plain, chunk_size)
    own = plan.ImageState(state.layout, own_features(source, state))
    return inheritance.Source(
        plan.level_of(errors.Origin.SOURCE_VOLUME, own),
        origins_of(source, recorded),
    )


def origins_of(
    volume: Any, recorded: Mapping[str, str]
) -> Mapping[precedence.Part, errors.Origin]:
    """Return where each part of a volume's image was given.

    A part that nobody gave through our keys or options is the cluster's. The
    first release did not record this. For its volumes it is derived from
    their keys, and a clone's parts count as requested: who requested them
    for the source is not known any more.

    :param volume: Cinder's volume object
    :param recorded: its admin metadata
    """
    found = record.origins(recorded)
    if found is not None:
        return found
    if record.read(recorded) is None:
        return {}
    metadata = request.metadata_of(volume)
    specs = request.specs_of(volume.volume_type)
    rest = errors.Origin.CLUSTER
    if volume.source_volid or volume.snapshot_id:
        rest = errors.Origin.VOLUME_METADATA
    given = {}
    for part, names in precedence.KEYS_OF_PART.items():
        given[part] = rest
        if names & specs.keys():
            given[part] = errors.Origin.VOLUME_TYPE
        if names & metadata.keys():
            given[part] = errors.Origin.VOLUME_METADATA
    return given


def layout_requested(volume: Any, recorded: Mapping[str, str]) -> bool:
    """Return whether anybody requested a volume's layout by a key of ours.

    :param volume: Cinder's volume object
    :param recorded: its admin metadata
    """
    given = origins_of(volume, recorded)
    return any(
        given.get(part) in precedence.ASKED
        for part in (precedence.Part.OBJECT_SIZE, precedence.Part.STRIPING)
    )


def features_requested(volume: Any, recorded: Mapping[str, str]) -> bool:
    """Return whether anybody requested a volume's features by a key of ours.

    :param volume: Cinder's volume object
    :param recorded: its admin metadata
    """
    given = origins_of(volume, recorded)
    return given.get(precedence.Part.FEATURES) in precedence.ASKED


def own_features(source: Any, state: plan.ImageState) -> features.Features:
    """Return a volume's features but for what its type did to them.

    A multi-attach type took features away and a replicated one added some;
    neither passes on to a volume of another type.
    """
    found = state.image_features
    saved = _loads(source.provider_location).get('saved_features')
    if isinstance(saved, int):
        found |= features.from_mask(saved) & features.SINGLE_CLIENT
    before = _loads(source.replication_driver_data)
    if before.get('had_journaling') is False:
        found -= {features.JOURNALING}
    if before.get('had_exclusive_lock') is False:
        found -= {features.EXCLUSIVE_LOCK}
    return found


def _loads(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or '{}')
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@dataclasses.dataclass(frozen=True)
class Made:
    """Decides how the image of a new volume is made.

    :ivar asked: what its metadata, its type and the back end say
    :ivar source: the volume that it is made from; None for none
    :ivar bounds: what it is held to
    :ivar chunk_size: object size in bytes of what stock creates
    :ivar own: returns what the stock driver would make of a new volume
    """

    asked: request.Request
    source: inheritance.Source | None
    bounds: inheritance.Bounds
    chunk_size: int
    own: Callable[[], plan.ImageState]

    def resolved(
        self, source: inheritance.Source | None
    ) -> precedence.Resolved:
        """Return what counts, with what may be inherited of a source."""
        if source is None:
            return self.asked.resolve()
        return self.asked.resolve(
            *inheritance.levels(
                source, self.asked.resolve, self.bounds, self.own
            )
        )

    def __call__(
        self, base: plan.ImageState, parent: plan.ImageState | None
    ) -> plan.ImagePlan:
        """Return the plan.

        :param base: what the stock driver would make
        :param parent: the image that it is cloned from, if it is; without a
            source volume that is a Glance image's
        :raises OptionError: for what can't be made
        """
        source = self.source
        if source is None and parent is not None:
            source = request.glance_source(parent, self.chunk_size)
        how = plan.plan_image(
            self.resolved(source), base, self.bounds.size, self.bounds.limits
        )
        return dataclasses.replace(
            how, origins=inheritance.origins(how, source)
        )
