# SPDX-License-Identifier: Apache-2.0

"""The configuration that the image of a volume should have."""

import dataclasses
import functools
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import record
from cinder_rbd_ext import type_specs
from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import request
from rbd_volume_options import volume_items

LOG = logging.getLogger(__name__)


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

        :raises OptionError: for invalid keys of the type
        """
        metadata = request.metadata_of(self.volume)
        return image_configuration.requested(
            metadata,
            type_specs.with_maxima(self.volume_type, metadata),
            self.new_size or self.volume.size,
            settings,
            functools.partial(record.is_accepted, self.volume),
        )

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
