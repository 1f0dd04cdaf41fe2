# SPDX-License-Identifier: Apache-2.0

"""The configuration that the image of a volume should have."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from oslo_log import log as logging
from oslo_utils import units

from cinder_rbd_ext import record
from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import request
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


def configuration_keys() -> list[str]:
    of_configuration = definitions.of_kind(
        definitions.Kind.IMAGE_CONFIGURATION
    )
    return [option.key for option in of_configuration]


def _relevant(items: Mapping[str, str]) -> dict[str, str]:
    """Return the items that matter to the configuration of an image."""
    rules = definitions.of_kind(definitions.Kind.LIMIT_RULE)
    ours = {
        keys.TENANT_OPTIONS,
        *configuration_keys(),
        *(rule.key for rule in rules),
    }
    return {
        k: v
        for k, v in items.items()
        if k in ours or not k.startswith(keys.PREFIX)
    }


@dataclasses.dataclass(frozen=True)
class Target:
    """A volume as it will be when its image is configured.

    :ivar volume: Cinder's volume object, as in the database
    :ivar size: its size in GiB, or its new size
    """

    volume: Any
    volume_type: Any
    size: int

    def acceptance(
        self, settings: backend_settings.BackendSettings
    ) -> accepted_keys.Acceptance:
        """Return which keys of the volume configure its image.

        :raises OptionError: for invalid keys of the type
        """
        return self._accepted(settings)[0]

    def _accepted(
        self, settings: backend_settings.BackendSettings
    ) -> tuple[accepted_keys.Acceptance, dict[str, Any]]:
        own = request.metadata_of(self.volume)
        named = {key: own[key] for key in configuration_keys() if key in own}
        return accepted_keys.Acceptance(named, {}).applied(
            lambda kept: self._requested(kept, settings)
        )

    def _requested(
        self,
        own: Mapping[str, str],
        settings: backend_settings.BackendSettings,
    ) -> dict[str, Any]:
        """Return the configuration with some keys of the volume.

        Whether tenants may set a key was checked when it was set, and is
        checked here if neither the API extension nor the driver accepted the
        value.
        """
        texts = request.Texts(
            own, _relevant(request.specs_of(self.volume_type))
        )
        new = {
            key: value
            for key, value in options.ours(own).items()
            if not record.is_accepted(self.volume, key, value)
        }
        if new:
            request.Texts(new, texts.specs).check_tenant(settings)
        return plan.configuration_of(
            texts.request(settings).resolve(),
            self.size * units.Gi,
            is_accepted=True,
        )

    def difference(
        self, settings: backend_settings.BackendSettings
    ) -> dict[str, Any] | None:
        """Return the new configuration; None if it is the recorded one.

        A change that was interrupted counts as a difference.

        :raises OptionError: for invalid keys of the type
        """
        accepted, wanted = self._accepted(settings)
        if accepted.dropped:
            LOG.warning(
                'Volume %(id)s: keys about the configuration of the image are '
                'ignored: %(keys)s',
                {'id': self.volume.id, 'keys': accepted.reasons},
            )
        recorded = self.volume.admin_metadata
        is_interrupted = wire.RECORD_CONFIGURING in recorded
        is_changed = wanted != image_record.configuration_in(recorded)
        return wanted if is_changed or is_interrupted else None
