# SPDX-License-Identifier: Apache-2.0

"""Volumes that Cinder creates as the target of a migration."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder import context
from cinder import objects

from cinder_rbd_ext import accepted_keys
from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.imaging import sources
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import plan
from rbd_volume_options import precedence

# Arrival has a method plan.
_State = plan.ImageState
_Plan = plan.ImagePlan

# Prefix of their migration status.
_TARGET = 'target:'


@dataclasses.dataclass(frozen=True)
class Arrival:
    """The target of a migration.

    Its metadata is a copy of the source's metadata and becomes the metadata of
    the source when the migration is complete.

    :ivar acceptance: the keys that are accepted here
    :ivar checked: those of them that were accepted on the source. A migration
        does not accept values that were set without a check.
    :ivar origins: where each part of the source's image was set
    :ivar state: the image to create; None to create it as its keys and its
        type request. If an operator migrates a volume, it is unchanged, even
        if its layout is inherited from another volume and not set by a key.
    :ivar disk: the properties of the source's disk, on which its data depends.
        The target has these, whatever its type requests: its record can become
        that of the volume.
    """

    acceptance: accepted_keys.Acceptance
    checked: Mapping[str, str]
    state: _State | None
    origins: Mapping[precedence.Part, errors.Origin]
    disk: Mapping[str, Any]

    def plan(self, data_pool: str | None) -> _Plan | None:
        """Plan an unchanged image; None if its keys and its type decide.

        :param data_pool: the data pool of the type or the back end
        """
        if self.state is None:
            return None
        return _Plan(
            self.state.layout,
            self.state.image_features,
            data_pool,
            self.state.configuration,
            self.disk,
            self.origins,
        )


def of_volume(
    volume: protocols.Volume, settings: backend_settings.BackendSettings
) -> Arrival | None:
    """Return the arrival of a target; None for any other volume.

    :raises OptionError: for a type whose options are not possible here
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
    values = record.values_accepted(source.admin_metadata)
    return Arrival(
        accepted,
        {k: v for k, v in accepted.kept.items() if values.get(k) == v},
        _state_of(source) if as_is else None,
        record.origins(source.admin_metadata) or {},
        record.disk_in(source.admin_metadata),
    )


def request_of(
    volume: protocols.Volume,
    arrival: Arrival | None,
    settings: backend_settings.BackendSettings,
) -> request.Request:
    """Return the requested options of a new volume.

    :raises OptionError: for options that are invalid or not allowed
    """
    if arrival is None:
        return request.of_volume(volume, volume.volume_type, settings)
    specs = request.specs_of(volume.volume_type)
    return request.read(arrival.acceptance.kept, specs, settings)


def _state_of(source: protocols.Volume) -> plan.ImageState | None:
    """Return the record of the image to copy; None for no record.

    The image itself is not read, because it can be in another cluster.
    """
    state = record.of_volume(source, source.admin_metadata)
    if state is None:
        return None
    own = sources.own_features(source, state) & features.CHOOSABLE
    return dataclasses.replace(state, image_features=own)
