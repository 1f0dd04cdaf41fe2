# SPDX-License-Identifier: Apache-2.0

"""The cache mode of an attachment."""

from collections.abc import Mapping
import dataclasses

from oslo_log import log as logging

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys

LOG = logging.getLogger(__name__)

_SHARED_MODE = definitions.OPTIONS[keys.CACHE_MODE].shared_value


def relevant(items: Mapping[str, str]) -> dict[str, str]:
    """Return the items that matter to an attachment.

    Fixed keys were checked when the volume was created, and must not prevent
    its attachment.
    """
    return {
        k: v
        for k, v in items.items()
        if not k.startswith(keys.PREFIX)
        or (k in definitions.OPTIONS and not definitions.is_fixed(k))
    }


@dataclasses.dataclass(frozen=True)
class Asked:
    """The cache mode with which a volume is to be attached.

    :ivar origin: where the mode was set; None if it is not a request
    :ivar shared: whether it is the mode of all shared disks
    """

    mode: cache_modes.CacheMode
    origin: errors.Origin | None
    shared: bool = False

    def refusal(self, reason: str, allowed: str) -> errors.OptionError:
        """Return why an attachment cannot have the mode."""
        return errors.OptionError(
            keys.CACHE_MODE, self.mode.value, reason, allowed, self.origin
        )


def is_requested(volume: protocols.Volume) -> bool:
    """Return whether a volume or its type requests a mode."""
    return keys.CACHE_MODE in {
        **request.metadata_of(volume),
        **request.specs_of(volume.volume_type),
    }


def kept(mode: cache_modes.CacheMode | None) -> Asked | None:
    """Return the mode of an attachment that a new one replaces."""
    return Asked(mode, None) if mode else None


def asked(
    volume: protocols.Volume, settings: backend_settings.BackendSettings
) -> Asked | None:
    """Return the requested mode of a volume; None to leave it to the host.

    A multi-attach volume is always attached with
    cache mode ``none``. Keys with another mode are refused
    when they are set. If such keys exist, because the API extension was not
    enabled, they do not prevent an attachment.

    Whether tenants may set the key was checked when it was set, and a key that
    was removed from the list later must not prevent an attachment. It is
    checked here only for a mode that neither the API extension nor the driver
    has accepted. That was set through a cinder-api service without the
    extension, or before the suite was installed.

    :raises OptionError: for an unknown mode, or one that is not allowed
    """
    if volume.multiattach:
        return Asked(_SHARED_MODE, None, shared=True)
    metadata = relevant(request.metadata_of(volume))
    specs = relevant(request.specs_of(volume.volume_type))
    texts = request.Texts(metadata, specs)
    mode = metadata.get(keys.CACHE_MODE)
    if mode is not None and not record.is_accepted(
        volume, keys.CACHE_MODE, mode
    ):
        LOG.warning(
            'Volume %(id)s: %(key)s = %(mode)s was not set through the API '
            'extension. Load the extension in every cinder-api service.',
            {
                'id': volume.id,
                'key': keys.CACHE_MODE,
                'mode': errors.shown(mode),
            },
        )
        texts.check_tenant(settings)
    resolved = texts.request(settings).resolve()
    choice = resolved.plain.get(keys.CACHE_MODE)
    return Asked(choice.value, choice.origin) if choice else None
