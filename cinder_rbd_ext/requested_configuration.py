# SPDX-License-Identifier: Apache-2.0

"""The configuration that the image of a volume should have."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import record
from cinder_rbd_ext import type_specs
from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import sizes
from rbd_volume_options import volume_items

LOG = logging.getLogger(__name__)
_Kind = definitions.Kind


@dataclasses.dataclass(frozen=True)
class Target:
    """A volume as it will be when its image is configured.

    :ivar volume: Cinder's volume object, as in the database
    :ivar new_type: its new volume type, if any
    :ivar new_size: its new size in GiB, if any
    """

    volume: Any
    new_type: Any = None
    new_size: int = 0

    @property
    def volume_type(self) -> Any:
        """The type for which its image is configured."""
        return self.new_type or self.volume.volume_type

    def requested(
        self, settings: backend_settings.BackendSettings
    ) -> tuple[accepted_keys.Acceptance, dict[str, Any]]:
        """Return the keys of the volume that are in force, and all values.

        Whether tenants may set a key was checked when it was set, and is
        checked here if neither the API extension nor the driver accepted the
        value.

        :raises OptionError: for invalid keys of the type
        """
        metadata = request.metadata_of(self.volume)
        specs = type_specs.with_maxima(self.volume_type, metadata)
        configuring = registry.keys_of_kind(_Kind.IMAGE_CONFIGURATION)
        relevant = {
            *(keys.TENANT_OPTIONS, *configuring),
            *registry.keys_of_kind(_Kind.LIMIT_RULE),
        }
        specs = {
            k: v
            for k, v in specs.items()
            if k in relevant or not k.startswith(keys.PREFIX)
        }
        size = (self.new_size or self.volume.size) * sizes.GIB

        def values(own: Mapping[str, str]) -> dict[str, Any]:
            new = {
                k: v
                for k, v in own.items()
                if not record.is_accepted(self.volume, k, v)
            }
            if new:
                request.check_tenant(new, specs, settings)
            requested = request.read_request(
                own, specs, settings, is_checked=True
            )
            return plan.configuration_of(
                requested.resolve(), size, is_accepted=True
            )

        named = {k: metadata[k] for k in configuring if k in metadata}
        return accepted_keys.Acceptance(named, {}).applied(values)

    def difference(
        self, settings: backend_settings.BackendSettings
    ) -> dict[str, Any] | None:
        """Return the new configuration; None if it is the recorded one.

        A change that was interrupted counts as a difference.

        :raises OptionError: for invalid keys of the type
        """
        accepted, wanted = self.requested(settings)
        if accepted.dropped:
            LOG.warning(
                'Volume %(id)s: keys about the configuration of the image are '
                'ignored: %(keys)s',
                {'id': self.volume.id, 'keys': accepted.reasons},
            )
        recorded = image_record.items(self.volume)
        is_interrupted = volume_items.RECORD_CONFIGURING in recorded
        is_changed = wanted != image_record.configuration_in(recorded)
        return wanted if is_changed or is_interrupted else None
