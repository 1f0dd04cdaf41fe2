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

"""Volumes that Cinder makes to copy another one to, in a migration."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder import context
from cinder import objects

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.imaging import sources
from cinder_rbd_ext.lifecycle import accepted_keys
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import plan
from rbd_volume_options import precedence

# How Cinder marks them.
_TARGET = 'target:'


@dataclasses.dataclass(frozen=True)
class Arrival:
    """The target of a migration.

    Its metadata is a copy of the other volume's, and becomes the metadata of
    that one when the migration is complete.

    :ivar acceptance: what becomes of its keys here
    :ivar origins: where each part of the other volume's image was given
    :ivar state: how its image is to be made; None to make it as its keys and
        its type ask. An operator moves a volume as it is, also one that has
        its layout from another volume and no key that says so.
    """

    acceptance: accepted_keys.Acceptance
    state: plan.ImageState | None
    origins: Mapping[precedence.Part, errors.Origin]


def of_volume(
    volume: Any, settings: backend_settings.BackendSettings
) -> Arrival | None:
    """Return what there is to know about a target; None for another volume.

    :param volume: Cinder's volume object
    :param settings: of the back end that it is made on
    :raises OptionError: for a type that can't be met here
    """
    status = volume.migration_status or ''
    if not status.startswith(_TARGET):
        return None
    source = objects.Volume.get_by_id(
        context.get_admin_context(), status[len(_TARGET) :]
    )
    as_is = source.volume_type_id == volume.volume_type_id
    accepted = accepted_keys.of_type(
        request.metadata_of(volume),
        request.specs_of(volume.volume_type),
        settings,
        volume.size,
        as_is,
    )
    return Arrival(
        accepted,
        _state_of(source) if as_is else None,
        sources.origins_of(source, source.admin_metadata),
    )


def request_of(
    volume: Any,
    arrival: Arrival | None,
    settings: backend_settings.BackendSettings,
) -> request.Request:
    """Return what is asked for a volume that is to be made.

    :param arrival: of the target of a migration; None for another volume
    :raises OptionError: for what can't be asked, or not by a tenant
    """
    if arrival is None:
        return request.of_volume(volume, volume.volume_type, settings)
    specs = request.specs_of(volume.volume_type)
    return request.read(arrival.acceptance.kept, specs, settings)


def _state_of(source: Any) -> plan.ImageState | None:
    """Return what is recorded of the image to copy; None for no record.

    The image itself can be in another cluster.
    """
    state = record.of_volume(source, source.admin_metadata)
    if state is None:
        return None
    own = sources.own_features(source, state) & features.CHOOSABLE
    return dataclasses.replace(state, image_features=own)
