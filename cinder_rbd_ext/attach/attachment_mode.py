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

"""The cache mode of an attachment."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import request
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys

# What else stands in a volume's metadata was settled when it was made, and is
# no reason to keep it from its server.
_RELEVANT = (keys.CACHE_MODE, keys.TENANT_OPTIONS)


def relevant(items: Mapping[str, str]) -> dict[str, str]:
    """Return what an attachment is to look at."""
    return {
        k: v
        for k, v in items.items()
        if k in _RELEVANT or not k.startswith(keys.PREFIX)
    }


@dataclasses.dataclass(frozen=True)
class Asked:
    """The cache mode that a volume is to be attached with.

    :ivar origin: who asks for it; None where nobody has to
    :ivar shared: whether it is that of every shared disk, whoever asks
    """

    mode: cache_modes.CacheMode
    origin: errors.Origin | None
    shared: bool = False


def kept(mode: cache_modes.CacheMode | None) -> Asked | None:
    """Return the mode of an attachment that another one replaces."""
    return Asked(mode, None) if mode else None


def asked(
    volume: Any, settings: backend_settings.BackendSettings
) -> Asked | None:
    """Return the mode to attach a volume with; None to leave it to the host.

    A multi-attach volume is always attached with ``none``: the caches of two
    hosts are not coherent.

    Which keys tenants may set is not judged here. It was judged when the key
    was set; a key that was taken off the list later must not keep a volume
    from its server.

    :raises OptionError: for an unknown mode, or one that is not allowed
    """
    metadata = relevant(request.metadata_of(volume))
    specs = relevant(request.specs_of(volume.volume_type))
    choice = request.read(metadata, specs, settings).resolve().cache_mode
    if volume.multiattach:
        return Asked(cache_modes.CacheMode.NONE, None, shared=True)
    return Asked(choice.value, choice.origin) if choice else None
